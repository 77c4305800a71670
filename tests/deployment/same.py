"""Whether the chart with its default values and the plain manifests deploy the same, but for labels that only
a release has.

    same.py CHART MANIFEST...
"""

import sys

import yaml

# What helm adds to `app.kubernetes.io/name`.
OF_A_RELEASE = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}


def without_release(value):
    if isinstance(value, dict):
        return {key: without_release(inner) for key, inner in value.items() if key not in OF_A_RELEASE}
    if isinstance(value, list):
        return [without_release(inner) for inner in value]
    return value


def objects(paths):
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for document in yaml.safe_load_all(file):
                if document is not None:
                    found[document["kind"], document["metadata"]["name"]] = without_release(document)
    return found


def differences(left, right, place):
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from differences(left.get(key), right.get(key), f"{place}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, pair in enumerate(zip(left, right)):
            yield from differences(*pair, f"{place}[{index}]")
    elif left != right:
        yield f"{place} differs: chart {left!r}, manifests {right!r}"


def main():
    chart, manifests = objects(sys.argv[1:2]), objects(sys.argv[2:])
    if not chart or not manifests:
        sys.exit("nothing to compare")
    found = [line for line in differences(
        {"/".join(key): value for key, value in chart.items()},
        {"/".join(key): value for key, value in manifests.items()},
        "",
    )]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
