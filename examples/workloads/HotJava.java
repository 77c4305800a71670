// Spins for SECONDS in hotJava, called from outerJava.
// Usage: java -XX:+PreserveFramePointer HotJava.java SECONDS
public class HotJava {
    static int hotJava(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += i * 31 % 7;
        return sum;
    }

    static int outerJava(long end) {
        int total = 0;
        while (System.currentTimeMillis() < end) total += hotJava(1_000_000);
        return total;
    }

    public static void main(String[] arguments) {
        double seconds = arguments.length == 1 ? Double.parseDouble(arguments[0]) : 0;
        if (!(seconds > 0 && seconds <= 900)) {
            System.err.println("usage: HotJava.java SECONDS (at most 900)");
            System.exit(2);
        }
        System.out.println("result " + outerJava(System.currentTimeMillis() + (long) (seconds * 1000)));
    }
}
