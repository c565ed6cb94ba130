package kubernetes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/change/question"
)

func TestRulesNamespace(t *testing.T) {
	for spec, want := range map[string]string{
		`"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":{"namespace":"shop","other":1},"status":{}`: "",
		`"spec":{"namespace":"shop"}`: `"kind" must be SelfSubjectRulesReview`,
		`"kind":"SelfSubjectRulesReview","apiVersion":"v1","spec":{"namespace":"shop"}`:                 `"apiVersion" must be authorization.k8s.io/v1`,
		`"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1"`:                        `"spec.namespace" must be a string that is not empty`,
		`"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":{"namespace":7}`: `"spec.namespace" must be a string`,
		`"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":[]`:              `"spec" must be an object`,
	} {
		body := "{" + spec + "}"
		namespace, refused := rulesNamespace(decision.Value(body))
		if want == "" && (refused != nil || namespace != "shop") || want != "" && (refused == nil || !strings.Contains(refused.Message, want)) {
			t.Errorf("%s: got %q, %+v, want %q", body, namespace, refused, want)
		}
	}
}

func TestRulesStatus(t *testing.T) {
	rule := question.GrantedRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"a"}}
	path := question.GrantedRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}
	for _, tt := range []struct {
		grants *question.Grants
		err    error
		want   string
	}{
		{&question.Grants{}, nil, `{"resourceRules":[],"nonResourceRules":[],"incomplete":false}`},
		{&question.Grants{Rules: []question.GrantedRule{rule, path}, Omitted: []string{"RoleBinding shop/b rule 0"}}, nil,
			`{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}],` +
				`"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz"]}],"incomplete":true,` +
				`"evaluationError":"left out, as it depends on the request: RoleBinding shop/b rule 0"}`},
		{nil, errors.New("x"), `{"resourceRules":[],"nonResourceRules":[],"incomplete":true,"evaluationError":"the rules could not be computed in time"}`},
	} {
		got, err := json.Marshal(statusOf(tt.grants, tt.err).withLists())
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
	}
}
