package engine

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/engine/match"
)

// An incomplete answer of OPA is an evaluation error: taken for "does not hold" or "not
// denied", it would permit.
func TestReadFindings(t *testing.T) {
	const none = `{"denied": false, "warnings": [], "pods": []}`
	const denied = `"denied": true, "warnings": [], "pods": [], "reason": "r", "labelsUnknown": false`
	const matched = `{"kind": "DenyPolicy", "name": "a", "rule": 0, "source": "a.yaml:1", "effect": "deny", "apiVersion": "v1"}`
	rows := []struct {
		name, answer string
		want         bool
	}{
		{"no denial", `[[0], ["a"], ` + none + `, [], ""]`, true},
		{"a denial", `[[], [], {` + denied + `, "matched": ` + matched + `}, [], ""]`, true},
		{"a pod", `[[], [], {"denied": false, "warnings": ["w"], "pods": [{"policy": "p", "action": "warn", "factors": ["f"], "score": 3, "override": true}]}, [], ""]`, true},
		{"an exempt pod", `[[], [], {"denied": false, "warnings": [], "pods": [{"policy": "p", "action": "allow"}]}, [], ""]`, true},
		{"not a list", `{}`, false},
		{"a hit of a selector beyond the list", `[[], [], ` + none + `, [1], ""]`, false},
		{"an end that is a number", `[[], [], ` + none + `, [], 1]`, false},
		{"three elements", `[[], [], ` + none + `]`, false},
		{"two elements", `[[], []]`, false},
		{"hits that are not a list", `[{}, [], ` + none + `, [], ""]`, false},
		{"a hit beyond the list", `[[1], [], ` + none + `, [], ""]`, false},
		{"a hit below zero", `[[-1], [], ` + none + `, [], ""]`, false},
		{"a hit that is text", `[["0"], [], ` + none + `, [], ""]`, false},
		{"a warning that is a number", `[[], [1], ` + none + `, [], ""]`, false},
		{"without denied", `[[], [], {"warnings": [], "pods": []}, [], ""]`, false},
		{"denied as text", `[[], [], {"denied": "false", "warnings": [], "pods": []}, [], ""]`, false},
		{"without pods", `[[], [], {"denied": false, "warnings": []}, [], ""]`, false},
		{"without warnings", `[[], [], {"denied": false, "pods": []}, [], ""]`, false},
		{"a denial without a policy", `[[], [], {` + denied + `}, [], ""]`, false},
		{"a denial without a reason", `[[], [], {"denied": true, "warnings": [], "pods": [], "labelsUnknown": false, "matched": ` + matched + `}, [], ""]`, false},
		{"a score that is text", `[[], [], {"denied": false, "warnings": [], "pods": [{"policy": "p", "action": "warn", "factors": [], "score": "3"}]}, [], ""]`, false},
		{"a score with a fraction", `[[], [], {"denied": false, "warnings": [], "pods": [{"policy": "p", "action": "warn", "factors": [], "score": 1.5}]}, [], ""]`, false},
		{"pod security without a policy", `[[], [], {"denied": false, "warnings": [], "pods": [], "podSecurity": {"action": "warn", "score": 1, "factors": []}}, [], ""]`, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := readFindings(ast.MustParseTerm(row.answer).Value, make([]match.Hit, 1))
			if got := err == nil; got != row.want {
				t.Errorf("got error %v, want none: %v", err, row.want)
			}
		})
	}
}
