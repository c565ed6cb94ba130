package kubernetes

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/metrics"
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
		namespace, refused := rulesNamespace(jsontext.ValueOf(body))
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

// A review in protobuf is that in JSON, and other bodies are refused.
func TestProtobuf(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, known := range []runtime.Object{&authorizationv1.SelfSubjectRulesReview{}, &authorizationv1.SelfSubjectAccessReview{}} {
		scheme.AddKnownTypes(authorizationv1.SchemeGroupVersion, known)
	}
	encode := func(o runtime.Object) string {
		t.Helper()
		text, err := runtime.Encode(serializer.NewCodecFactory(scheme).EncoderForVersion(protobuf.NewSerializer(scheme, scheme), authorizationv1.SchemeGroupVersion), o)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	review := encode(&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "shop"}})
	long := encode(&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: strings.Repeat("x", maxProtobuf)}})
	for name, tt := range map[string]struct{ body, want string }{
		"a review":           {review, "shop"},
		"of another kind":    {encode(&authorizationv1.SelfSubjectAccessReview{}), ""},
		"JSON":               {`{"kind":"SelfSubjectRulesReview"}`, ""},
		"a part of a review": {review[:len(review)/2], ""},
		"too long":           {long, ""},
		"empty":              {"", ""},
	} {
		got, media := "", ""
		h := acceptProtobuf(exchange.New(exchange.Options{Metrics: metrics.New()}), func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || int64(len(body)) != r.ContentLength {
				t.Errorf("%s: %v", name, err)
			}
			var refused *exchange.Refusal
			if got, refused = rulesNamespace(jsontext.ValueOf(string(body))); refused != nil {
				t.Errorf("%s: got %+v for %s", name, refused, body)
			}
			media = r.Header.Get("Content-Type")
		})
		r, w := httptest.NewRequest("POST", "/", strings.NewReader(tt.body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", runtime.ContentTypeProtobuf)
		h(w, r)
		if got != tt.want || (tt.want != "") != (media == "application/json") || tt.want == "" && w.Code != http.StatusBadRequest {
			t.Errorf("%s: got %q, %q, status %d %s", name, got, media, w.Code, w.Body)
		}
	}
}
