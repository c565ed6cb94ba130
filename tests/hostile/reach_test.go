package hostile

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

const reachPath = "/v1/reach"

var reachAttack = &attack{
	target: "FuzzReach",
	routes: []string{"GET " + reachPath, "HEAD " + reachPath},
	draw: func(d random.Source, s *site, route string) *request {
		drawn := s.drawAccess(d)
		from := "user:" + drawn.User
		for _, group := range drawn.Groups {
			from += ",group:" + group
		}
		given := url.Values{"from": {from}, "to": {d.One([]string{"cluster-admin", "user:alice", "group:dev", "namespace-admin:" + drawn.Namespace, "any", "ROLE:x", ""})}}
		if d.Once(2) {
			given.Set("class", d.One([]string{"certain", "assumed", "possible", "sure"}))
		}
		if d.Once(4) {
			given.Set("paths", d.One([]string{"1", "3", "0", "x"}))
		}
		if drawn.Cluster != "" {
			given.Set("cluster", drawn.Cluster)
		}
		r := get(route)
		r.query = given.Encode()
		r.from(d, "t-auditor", "t-auditor", "t-alice")
		return r
	},
	judge: judgeReach,
	slow:  true, // each searches until its end, or that of its time
}

// FuzzReach asks who can become whom.
func FuzzReach(f *testing.F) { reachAttack.fuzz(f) }

// judgeReach compares the requests of paths with the oracle, up to the first document that
// changes. Only auditors ask.
func judgeReach(x *exchange) string {
	if own := x.caller(); own == nil || !contains(own.groups, "auditors") {
		return "a caller that is not an auditor gets an answer"
	}
	if x.sent.Method == "HEAD" {
		return ""
	}
	paths, _ := x.decoded()["paths"].([]any)
	for _, each := range paths {
		path, _ := each.(map[string]any)
		hops, _ := path["hops"].([]any)
		for _, each := range hops {
			hop, _ := each.(map[string]any)
			as, _ := hop["as"].(map[string]any)
			facts, _ := hop["facts"].(map[string]any)
			requests, _ := hop["requests"].([]any)
			if why, _ := hop["why"].([]any); slices.ContainsFunc(why, func(w any) bool { return strings.HasPrefix(fmt.Sprint(w), "extension:") }) {
				continue // the code of an extension decides, and no fact stands for it
			}
			for _, each := range requests {
				request, _ := each.(map[string]any)
				whole := map[string]any{"user": as["user"], "groups": as["groups"]}
				if cluster := x.sent.URL.Query().Get("cluster"); cluster != "" {
					whole["cluster"] = cluster
				}
				for _, part := range []map[string]any{request, facts} {
					maps.Copy(whole, part)
				}
				for _, key := range []string{"session", "escalation"} {
					if as[key] != nil {
						whole[key] = as[key]
					}
				}
				if r, ok := accessOf(whole); !ok || !x.site.allows(r) {
					return "a request of a hop is not allowed: " + written(whole)
				}
			}
			if hop["becomes"] == nil {
				break // what follows is decided by changed documents
			}
		}
	}
	return ""
}
