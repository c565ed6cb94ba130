package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/auth"
)

func TestTokenReviews(t *testing.T) {
	var got tokenReview
	answers := map[string]string{
		"good":    `{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ada","uid":"7","groups":["dev"]},"audiences":["writ"]}}`,
		"other":   `{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ada"},"audiences":["api"]}}`,
		"unaware": `{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ada"}}}`,
		"bad":     `{"kind":"TokenReview","status":{"authenticated":false,"error":"unknown"}}`,
		"unnamed": `{"kind":"TokenReview","status":{"authenticated":true,"audiences":["writ"]}}`,
		"strange": `[]`,
		"status":  `{"kind":"Status","status":"Success"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = tokenReview{}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.Method != http.MethodPost || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			t.Errorf("got %s %s, %v", r.Method, r.URL.Path, err)
		}
		answer, found := answers[got.Spec.Token]
		if !found {
			http.Error(w, got.Spec.Token, http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, path, strings.ReplaceAll(kubeconfig, "https://127.0.0.1:1", server.URL))
	review, err := TokenReviews(path, []string{"writ"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		token  string
		caller *auth.Caller
		fails  bool
	}{
		{"good", &auth.Caller{Name: "ada", UID: "7", Groups: []string{"dev"}}, false},
		{"other", nil, false},
		{"unaware", nil, false},
		{"bad", nil, false},
		{"unnamed", nil, true},
		{"strange", nil, true},
		{"status", nil, true},
		{"refused", nil, true},
	} {
		caller, err := review(t.Context(), tt.token)
		if !reflect.DeepEqual(caller, tt.caller) || (err != nil) != tt.fails {
			t.Errorf("%s: got %+v, %v", tt.token, caller, err)
		}
		if got.Spec.Token != tt.token || !reflect.DeepEqual(got.Spec.Audiences, []string{"writ"}) {
			t.Errorf("%s: the API server got %+v", tt.token, got)
		}
	}
	if _, err := TokenReviews(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a kubeconfig that is not there was read")
	}
}
