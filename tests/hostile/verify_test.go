package hostile

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

const (
	verifyPath     = "/v1/verify"
	assertionsPath = "/v1/assertions"
)

var verifyAttack = &attack{
	target: "FuzzVerify",
	routes: []string{"POST " + verifyPath, "GET " + assertionsPath, "HEAD " + assertionsPath},
	draw: func(d random.Source, s *site, route string) *request {
		method, path, _ := strings.Cut(route, " ")
		var r *request
		if path == verifyPath {
			r = post(d, path, written(map[string]any{"assertions": []any{drawnAssertion(d, s)}}))
			r.header = r.header[:1]
		} else {
			r = &request{method: method, path: path}
		}
		r.from(d, "t-auditor", "t-auditor", "t-alice")
		return r
	},
	judge: judgeVerify,
}

// drawnAssertion states something of the requests like a drawn one.
func drawnAssertion(d random.Source, s *site) map[string]any {
	drawn := s.drawAccess(d)
	of := map[string]any{}
	for key, value := range map[string]string{"verb": drawn.Verb, "namespace": drawn.Namespace} {
		if d.Once(2) && value != "" {
			of[key] = value
		}
	}
	if d.Once(2) {
		of["holds"] = d.One([]string{"user:alice", "group:dev", "user:bob", "group:ops", "user:"})
	}
	return map[string]any{
		"name": d.One([]string{"a", "b/c"}), d.One([]string{"never", "always"}): d.One([]string{"allowed", "denied", "decided"}), "of": of,
		"allow": []any{"vacuous", "pod", "pattern"},
	}
}

// FuzzVerify asks whether assertions hold.
func FuzzVerify(f *testing.F) { verifyAttack.fuzz(f) }

// judgeVerify compares the witnesses of an answer with the oracle. Only auditors ask.
func judgeVerify(x *exchange) string {
	own := x.caller()
	if own == nil || !contains(own.groups, "auditors") {
		return "a caller that is not an auditor gets verdicts"
	}
	if x.sent.Method != "POST" {
		return ""
	}
	results, _ := x.decoded()["assertions"].([]any)
	for _, each := range results {
		result, _ := each.(map[string]any)
		witness, isFailed := result["witness"].(map[string]any)
		if isFailed != (result["verdict"] == "fails") {
			return "a witness is missing, or shown of what does not fail: " + written(result)
		}
		requests, _ := witness["requests"].([]any)
		for _, one := range requests {
			w, _ := one.(map[string]any)
			object, _ := w["request"].(map[string]any)
			r, ok := accessOf(object)
			if !ok || x.site.allows(r) != (w["outcome"] == "allow") {
				return "a witness is not decided as the oracle decides: " + written(w)
			}
		}
	}
	return ""
}
