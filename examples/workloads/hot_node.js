// Spins for SECONDS in hotNode, called from outerNode.
// Usage: node [--perf-basic-prof --interpreted-frames-native-stack] hot_node.js SECONDS

function hotNode(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i * i + 1);
  return sum;
}

function outerNode(end) {
  let total = 0;
  while (Date.now() < end) total += hotNode(1e6);
  return total;
}

const seconds = Number(process.argv[2]);
if (!(seconds > 0 && seconds <= 900)) {
  console.error("usage: hot_node.js SECONDS (at most 900)");
  process.exit(2);
}
console.log("result", outerNode(Date.now() + seconds * 1000));
