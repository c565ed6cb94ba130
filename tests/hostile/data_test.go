package hostile

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

var dataAttack = &attack{
	target: "FuzzData", decides: false,
	routes: []string{"POST /v1/data/*path", "GET /v1/data/*path", "POST /v0/data/*path", "POST /v1/data", "GET /v1/data"},
	draw: func(d random.Source, s *site, route string) *request {
		method, pattern, _ := strings.Cut(route, " ")
		path := strings.Replace(pattern, "/*path", d.One([]string{"/writ/access/decision", "/writ/access/decision", "/compiled/access/master"}), 1)
		input := s.drawAccess(d).JSON()
		body := `{"input":` + input + `}`
		if strings.HasPrefix(path, "/v0") {
			body = input
		}
		r := post(d, path, body)
		r.method = method
		if method == "GET" {
			r.body, r.query = nil, "input="+url.QueryEscape(input)
		}
		if !strings.HasSuffix(path, "decision") || d.Once(3) {
			r.header = r.header[:1]
			r.from(d, "t-auditor")
		}
		return r
	},
	judge: judgeData,
}

// FuzzData sends what clients of OPA send.
func FuzzData(f *testing.F) { dataAttack.fuzz(f) }

// judgeData compares decisions with the oracle's. Everything else is for auditors.
func judgeData(x *exchange) string {
	own := x.caller()
	if own == nil {
		return "a caller without credentials is answered"
	}
	_, path, _ := strings.Cut(x.sent.URL.Path, "/data")
	names := slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" })
	explains := slices.ContainsFunc(x.sent.URL.Query()["explain"], func(mode string) bool { return contains([]string{"notes", "fails", "full", "debug"}, mode) })
	if len(names) < 3 || names[0] != "writ" || !contains([]string{"access", "visibility", "gateway"}, names[1]) || names[2] != "decision" || explains {
		if !contains(own.groups, "auditors") {
			return "a caller that is not an auditor reads beyond the entrypoints"
		}
		return ""
	}
	if len(names) > 3 || names[1] != "access" {
		return "" // parts of decisions, and points without documents
	}
	result := x.decoded()
	var input []byte
	switch {
	case strings.HasPrefix(x.sent.URL.Path, "/v0"):
		input = x.body
	case x.sent.Method == "GET":
		result, _ = result["result"].(map[string]any)
		if values := x.sent.URL.Query()["input"]; len(values) > 0 {
			input = []byte(values[len(values)-1])
		}
	default:
		result, _ = result["result"].(map[string]any)
		input, _ = json.Marshal(strict(x.body)["input"])
	}
	r, ok := readAccess(input)
	if result["error"] != nil {
		return ""
	}
	return x.judgeDecision(ok && x.site.allows(r), result["allowed"])
}
