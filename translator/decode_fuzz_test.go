package translator_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// fuzz checks properties of every text: Decode returns, each diagnostic has a position
// within the file and a known code, and text that is not a document is an error.
func fuzz(f *testing.F, file string) {
	seeds, err := filepath.Glob("testdata/decode/*" + filepath.Ext(file))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		content, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		for part := range bytes.SplitSeq(content, []byte("\n---\n")) {
			f.Add(part) // small seeds change faster
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		read := translator.Kinds().Decode(file, content, syntax.Options{})
		documents, list := read.Documents, read.List
		for _, d := range list {
			check(t, file, d)
		}
		for _, d := range documents {
			h := d.Meta()
			if h.Name == "" || h.Kind == "" || h.Family == "" || h.At.Line < 1 || h.At.File != file {
				t.Errorf("got a document without identity: %+v", h)
			}
		}
		if !utf8.Valid(content) && (len(documents) > 0 || !list.HasErrors()) {
			t.Errorf("got %d documents from invalid UTF-8", len(documents))
		}
	})
}

func check(t *testing.T, file string, d diag.Diagnostic) {
	t.Helper()
	if d.File != file || d.Line < 1 || d.Column < 1 || d.Message == "" {
		t.Errorf("got %+v", d)
	}
	if e, known := diag.Explain(d.Code); !known || e.Severity != d.Severity && d.Severity == diag.Warning && d.Code != diag.TooManyMistakes {
		t.Errorf("code %s is not known as a %s", d.Code, d.Severity)
	}
}

func FuzzDecodeYAML(f *testing.F) {
	f.Add([]byte("a: &a [*a]\n---\n{\"a\": \"\\ud83d\\ude00\"}\n"))
	f.Add([]byte("%YAML 1.2\n---\nkind: List\nitems: [{<<: {kind: role}, name: x}]\n...\n"))
	fuzz(f, "f.yaml")
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte("{\"kind\": \"role\", \"name\": \"view\", \"namespace\": \"master\", \"rules\": [{\"verbs\": [\"watch\"], \"resourceKinds\": [\"*\", \"-roles\"]}]}\n{\"kind\": \"role\", \"name\": \"}{\"} {}"))
	f.Add([]byte(`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "role", "name": "r", "namespace": "n", "rules": [{"deny": "true"}]}]}`))
	f.Add([]byte("{\"kind\": \"policy\", \"name\": \"\\ud83d\\ude00\", \"roles\": {\"a\": {\"rules\": [1e5, -0.5]}}}\n---\n[]"))
	f.Add([]byte(`{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "p"}, "spec": {"precedence": 1e2, "appliesTo": {"clusters": ["[^a-z]*\\"]}, "podSecurityRules": {"riskFactors": {"capabilities": {"cap_x": -0}}, "thresholds": [{"maxScore": 9007199254740993, "action": "deny", "reason": "{{.score}}{{"}]}}}`))
	f.Add([]byte(`{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "BreakglassEscalation", "metadata": {"name": "e"}, "spec": {"allowed": {"groups": ["g", "g"]}, "podSecurityOverrides": {"enabled": true, "namespaceScope": {"selectorTerms": [{}]}}}}`))
	f.Add([]byte(`{"apiVersion": "kuadrant.io/v1", "kind": "AuthPolicy", "metadata": {"name": "p"}, "spec": {"targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g"}, "defaults": {"when": "self.spec.a[0] > 1", "rules": {"authorization": {"a": {"opa": {"rego": "allow { x[_] }\n# METADATA\nx = 1"}}}, "response": {"unauthorized": {"code": 302, "body": {"selector": "{a.@extract:{\"sep\":\"}\"}}-{b}"}}}}}}}`))
	f.Add([]byte(`{"apiVersion": "kuadrant.io/v1", "kind": "RateLimitPolicy", "metadata": {"name": "p", "creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": {"limits": {"a.b": {"rates": [{"limit": 1e3, "window": "1m"}], "counters": [{"expression": "a.b"}], "when": [{"predicate": "true"}]}}, "unset": ["limits."], "when": []}}`))
	f.Add([]byte(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": {"hostnames": ["*.a"], "rules": [{"name": "rule-2"}, {"matches": [{"path": {"type": "RegularExpression", "value": "(a*)*"}, "headers": [{"name": "A", "value": "b"}]}]}]}}`))
	f.Add([]byte(`{"apiVersion": "clusterpulse.io/v1alpha1", "kind": "MonitorAccessPolicy", "metadata": {"name": "p"}, "spec": {"identity": {"priority": 1e2, "subjects": {"users": ["\u0000*"]}}, "access": {"effect": "Deny"}, "scope": {"clusters": {"default": "all", "rules": [{"selector": {"matchPattern": "(a*)*$", "matchLabels": {}}, "resources": {"custom": {"pods": {"filters": {"fields": {"x": {"denied": [""]}}}}}}}]}}, "lifecycle": {"validity": {"notAfter": "9999-12-31T23:59:59.9999999999-23:59"}}}}`))
	f.Add([]byte(`{"apiVersion": "clusterpulse.io/v1alpha1", "kind": "MetricSource", "metadata": {"name": "s"}, "spec": {"source": {"apiVersion": "v1", "kind": "T"}, "fields": [{"name": "f", "path": ".f"}], "aggregations": [{"name": "p", "function": "percentile", "percentile": -0, "field": "f", "filter": {"field": "_name", "operator": "matches", "value": "a{1000}{1000}"}}], "rbac": {"resourceTypeName": "t"}}}`))
	fuzz(f, "f.json")
}

func FuzzDecodeRego(f *testing.F) {
	f.Add([]byte("package writ.extensions.a\n\nholds(request, params) := \"unknown\" if not request.attributes.x\n"))
	fuzz(f, "f.rego")
}
