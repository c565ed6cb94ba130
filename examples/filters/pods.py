#!/usr/bin/env python3
"""Lists the pods of a table that a user may see: one question to writ, one statement to SQLite.

usage: pods.py USER [GROUP...]     (run it in the root of the repository, with writ on the path)
"""
import json
import sqlite3
import subprocess
import sys

PODS = [
    ("hammer", "web-0", 0), ("hammer", "web-1", 7), ("hammer-test", "job", 4), ("Hammer", "fake", 9),
    ("shop", "cart", 5), ("kube-system", "dns", 3), (None, "lost", 8),
]


def filter_of(user, groups):
    """Returns the condition under which the user sees a pod, and its parameters."""
    question = {
        "request": {"user": user, "groups": groups, "type": "pods", "cluster": {"name": "prod-eu-1", "labels": {"env": "prod"}}},
        "target": "sql+sqlite",
        "columns": {"name": ["p", "name"], "namespace": ["p", "ns"], "labels": None},
    }
    asked = subprocess.run(
        ["writ", "filter", "--policies", "examples/policies", "--point", "visibility"],
        input=json.dumps(question), capture_output=True, text=True, check=False)
    answer = json.loads(asked.stdout)
    if "error" in answer:  # the filter is not exact in this language: show nothing
        raise SystemExit("refused: " + answer["error"]["message"])
    return answer["query"], answer["args"]


def main():
    user, groups = sys.argv[1], sys.argv[2:]
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE pods (ns TEXT, name TEXT, restarts INTEGER)")
    db.executemany("INSERT INTO pods VALUES (?, ?, ?)", PODS)
    query, args = filter_of(user, groups)
    # The application's own conditions stand beside the filter. Its parameters follow theirs.
    statement = "SELECT p.ns, p.name, p.restarts FROM pods AS p WHERE p.restarts > ? AND (" + query + ") ORDER BY p.restarts DESC"
    for ns, name, restarts in db.execute(statement, [2, *args]):
        print(f"{ns}/{name} {restarts}")


if __name__ == "__main__":
    main()
