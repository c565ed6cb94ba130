package hostile

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/tests/oracle/random"
)

const pokeSecret = "a secret of the forge"

var operationsAttack = &attack{
	target: "FuzzOperations",
	routes: []string{
		"GET /v1/status", "HEAD /v1/status", "GET /", "HEAD /", "GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz", "GET /metrics", "HEAD /metrics",
		"GET /health", "HEAD /health", "GET /.well-known/authzen-configuration", "HEAD /.well-known/authzen-configuration",
		"GET /v1/openapi.json", "HEAD /v1/openapi.json", "POST /v1/poke",
	},
	draw: func(d random.Source, _ *site, route string) *request {
		r := get(route)
		r.from(d, "t-alice", "t-auditor", "t-operator")
		if strings.HasSuffix(route, "poke") {
			r.body = []byte(`{"ref":"refs/heads/main"}`)
			if d.Once(2) {
				r.set("X-Gitlab-Token", pokeSecret)
			} else {
				r.set("X-Hub-Signature-256", "sha256="+signature(r.body))
			}
		}
		return r
	},
	judge: func(x *exchange) string {
		own := x.caller()
		switch path := x.sent.URL.Path; {
		case path == "/", path == "/healthz", path == "/readyz":
			return ""
		case path == "/v1/poke":
			if !x.knowsSecret() {
				return "a request that does not know the secret is accepted"
			}
			return ""
		case own == nil:
			return "a caller without credentials is answered"
		case path == "/v1/status" && x.sent.Method == "GET" && x.decoded()["details"] != contains(own.groups, "auditors"):
			return "the details of the status are for auditors"
		}
		return ""
	},
}

// FuzzOperations asks for the status and metrics, and announces changes.
func FuzzOperations(f *testing.F) { operationsAttack.fuzz(f) }

func signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(pokeSecret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// knowsSecret is the naive reading of a poke's proof: a signature counts alone.
func (x *exchange) knowsSecret() bool {
	if text, signed := strings.CutPrefix(x.sent.Header.Get("X-Hub-Signature-256"), "sha256="); signed {
		return strings.EqualFold(text, signature(x.body))
	}
	return x.sent.Header.Get("X-Gitlab-Token") == pokeSecret
}

var operatorAttack = &attack{
	target: "FuzzOperators", at: operators,
	routes: []string{"GET /v1/revisions", "POST /v1/rollback", "POST /v1/release", "POST /v1/accept"},
	draw: func(d random.Source, _ *site, route string) *request {
		r := get(route)
		switch {
		case strings.HasSuffix(route, "rollback"):
			r.body = []byte(`{"revision":"abc"}`)
		case strings.HasSuffix(route, "accept"):
			r.body = []byte(`{"commit":"abc"}`)
		}
		r.from(d, "t-operator")
		return r
	},
	judge: func(x *exchange) string {
		if own := x.caller(); own == nil || !contains(own.groups, "operators") {
			return "a caller that is not an operator is answered"
		}
		for path, key := range map[string][2]string{"/v1/rollback": {"revision", "pinned"}, "/v1/accept": {"commit", "accepted"}} {
			if x.sent.URL.Path != path {
				continue
			}
			object := strict(x.body)
			if !has(object, key[0]) || object[key[0]] == nil || x.decoded()[key[1]] != object[key[0]] {
				return "the answer does not name what the body does"
			}
		}
		if !json.Valid(x.answer) {
			return "the answer is not JSON"
		}
		return ""
	},
}

// FuzzOperators sends what operators ask.
func FuzzOperators(f *testing.F) { operatorAttack.fuzz(f) }

// store is a RevisionStore that does everything it is asked to.
type store struct{}

func (store) Revisions() (any, error)                { return []reload.Kept{{Revision: "abc"}}, nil }
func (store) Rollback(context.Context, string) error { return nil }
func (store) Release(context.Context) error          { return nil }
func (store) Accept(context.Context, string) error   { return nil }
