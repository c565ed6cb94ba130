package hostile

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

const (
	whoCanPath  = "/v1/who-can"
	whatCanPath = "/v1/what-can"

	escalationsPath = "/v1/escalations"
)

var questionAttack = &attack{
	target: "FuzzQuestion",
	routes: []string{"POST " + whoCanPath, "POST " + whatCanPath, "POST " + escalationsPath},
	draw: func(d random.Source, s *site, route string) *request {
		_, path, _ := strings.Cut(route, " ")
		drawn := s.drawAccess(d)
		asked := strict([]byte(drawn.JSON()))
		body := map[string]any{"request": asked}
		if path == whatCanPath {
			body = map[string]any{"user": drawn.User, "groups": texts(drawn.Groups), "namespace": drawn.Namespace}
		}
		if path == escalationsPath {
			body = map[string]any{"name": d.One([]string{"", "sre-fix", "bg/sre-fix", "\x00"}), "cluster": drawn.Cluster}
		}
		delete(asked, "user")
		delete(asked, "groups")
		if d.Once(2) {
			path += "?limit=2"
		}
		r := post(d, path, written(body))
		r.header = r.header[:1]
		r.from(d, "t-auditor", "t-auditor", "t-alice")
		return r
	},
	judge: judgeQuestion,
}

// FuzzQuestion asks who can do something and what a subject can do.
func FuzzQuestion(f *testing.F) { questionAttack.fuzz(f) }

// judgeQuestion compares the examples of an answer with the oracle. About others only
// auditors ask.
func judgeQuestion(x *exchange) string {
	own := x.caller()
	if own == nil {
		return "a caller without credentials gets an answer"
	}
	if !contains(own.groups, "auditors") {
		if x.sent.URL.Path == escalationsPath {
			return "a caller that is not an auditor asks for escalations"
		}
		subject, _ := x.decoded()["question"].(map[string]any)["subject"].(map[string]any)
		if subject["user"] != own.name || !slices.Equal(groupsOf(subject), own.groups) {
			return "a caller that is not an auditor asks about others"
		}
	}
	subjects, _ := x.decoded()["subjects"].([]any)
	for _, each := range subjects {
		subject, _ := each.(map[string]any)
		for key, want := range map[string]bool{"example": true, "counterexample": false} {
			object, given := subject[key].(map[string]any)
			r, ok := accessOf(object)
			if given && (!ok || x.site.allows(r) != want) {
				return "the " + key + " of a subject is not one: " + written(subject)
			}
		}
	}
	return ""
}

func groupsOf(subject map[string]any) []string {
	out := []string{}
	list, _ := subject["groups"].([]any)
	for _, group := range list {
		text, _ := group.(string)
		out = append(out, text)
	}
	return out
}

const rulesReviewPath = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

var rulesReviewAttack = &attack{
	target: "FuzzRulesReview",
	routes: []string{"POST " + rulesReviewPath, "POST /clusters/:cluster" + rulesReviewPath},
	draw: func(d random.Source, s *site, route string) *request {
		drawn := s.drawAccess(d)
		path := rulesReviewPath
		if strings.Contains(route, ":cluster") && drawn.Cluster != "" {
			path = "/clusters/" + drawn.Cluster + path
		}
		return post(d, path, written(map[string]any{
			"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": map[string]any{"namespace": drawn.Namespace},
		}))
	},
	judge: judgeRulesReview,
}

// FuzzRulesReview asks what the caller may do.
func FuzzRulesReview(f *testing.F) { rulesReviewAttack.fuzz(f) }

// judgeRulesReview asks the oracle for what the rules of an answer cover.
func judgeRulesReview(x *exchange) string {
	own := x.caller()
	if own == nil {
		return "a caller without credentials gets an answer"
	}
	answer := x.decoded()
	spec, _ := answer["spec"].(map[string]any)
	status, _ := answer["status"].(map[string]any)
	namespace, _ := spec["namespace"].(string)
	var cluster string
	if rest, ok := strings.CutPrefix(x.sent.URL.Path, "/clusters/"); ok {
		cluster, _, _ = strings.Cut(rest, "/")
	}
	rules, _ := status["resourceRules"].([]any)
	for _, each := range rules {
		rule := &fields{each.(map[string]any), true}
		for _, verb := range rule.texts("verbs") {
			for _, resource := range rule.texts("resources") {
				kind, sub, _ := strings.Cut(resource, "/")
				r := oracle.Request{
					User: own.name, Groups: own.groups, Verb: plain(verb, "get"), Resource: plain(kind, "pods"), Subresource: sub,
					APIGroup: plain(rule.texts("apiGroups")[0], ""), Namespace: namespace, Cluster: cluster,
				}
				if names := rule.texts("resourceNames"); len(names) > 0 {
					r.Name = names[0]
				}
				if !x.site.allows(r) {
					return "a rule covers what is not allowed: " + written(each)
				}
			}
		}
	}
	return ""
}

// plain returns a value that a word of a rule covers.
func plain(word, other string) string {
	if word == "*" {
		return other
	}
	return word
}
