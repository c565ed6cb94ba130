package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/api/admin"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/metrics"
)

// keeping is a RevisionStore that records its calls, and fails as err says.
type keeping struct {
	asked []string
	err   error
}

func (k *keeping) Revisions() (any, error) {
	k.asked = append(k.asked, "revisions")
	return []string{"a"}, k.err
}

func (k *keeping) Rollback(_ context.Context, revision string) error {
	k.asked = append(k.asked, "rollback to "+revision)
	return k.err
}

func (k *keeping) Release(context.Context) error {
	k.asked = append(k.asked, "release")
	return k.err
}

func (k *keeping) Accept(_ context.Context, commit string) error {
	k.asked = append(k.asked, "accept "+commit)
	return k.err
}

// Only an operator is answered, only requests that the endpoint takes are accepted, and
// errors reveal nothing internal.
func TestAdmin(t *testing.T) {
	secret := errors.New("/var/lib/writ: a secret of the disk")
	for name, row := range map[string]struct {
		method, path, token, body string
		err                       error
		status                    int
		asked                     string
	}{
		"revisions":                 {"GET", "/v1/revisions", "t", "", nil, 200, "revisions"},
		"rollback":                  {"POST", "/v1/rollback", "t", `{"revision":"a"}`, nil, 200, "rollback to a"},
		"release":                   {"POST", "/v1/release", "t", "", nil, 200, "release"},
		"no token":                  {"POST", "/v1/rollback", "", `{"revision":"a"}`, nil, 401, ""},
		"a list without a token":    {"GET", "/v1/revisions", "", "", nil, 401, ""},
		"a release without a token": {"POST", "/v1/release", "", "", nil, 401, ""},
		"another group":             {"POST", "/v1/release", "v", "", nil, 403, ""},
		"another token":             {"POST", "/v1/release", "u", "", nil, 401, ""},
		"by a link":                 {"GET", "/v1/release", "t", "", nil, 405, ""},
		"no revision":               {"POST", "/v1/rollback", "t", `{}`, nil, 400, ""},
		"two revisions":             {"POST", "/v1/rollback", "t", `{"revision":"a","revision":"b"}`, nil, 400, ""},
		"another key":               {"POST", "/v1/rollback", "t", `{"revision":"a","force":true}`, nil, 400, ""},
		"no object":                 {"POST", "/v1/rollback", "t", `"a"`, nil, 400, ""},
		"release of a revision":     {"POST", "/v1/release", "t", `{"revision":"a"}`, nil, 400, ""},
		"a long body":               {"POST", "/v1/rollback", "t", strings.Repeat(" ", 64<<10) + `{"revision":"a"}`, nil, 413, ""},
		"accept":                    {"POST", "/v1/accept", "t", `{"commit":"a"}`, nil, 200, "accept a"},
		"accept without a token":    {"POST", "/v1/accept", "", `{"commit":"a"}`, nil, 401, ""},
		"accept a revision":         {"POST", "/v1/accept", "t", `{"revision":"a"}`, nil, 400, ""},
		"not a commit":              {"POST", "/v1/accept", "t", `{"commit":"a"}`, fmt.Errorf("%w: %w", admin.ErrNotCommit, secret), 400, "accept a"},
		"not kept":                  {"POST", "/v1/rollback", "t", `{"revision":"a"}`, fmt.Errorf("%w: %w", admin.ErrNotKept, secret), 404, "rollback to a"},
		"nothing kept":              {"POST", "/v1/release", "t", "", fmt.Errorf("%w: %w", admin.ErrNoState, secret), 409, "release"},
		"not pinned":                {"POST", "/v1/rollback", "t", `{"revision":"a"}`, fmt.Errorf("%w: %w", admin.ErrNotPinned, secret), 500, "rollback to a"},
		"another failure":           {"GET", "/v1/revisions", "t", "", secret, 500, "revisions"},
		"decisions":                 {"POST", "/v1/decisions/access", "t", "{}", nil, 404, ""},
	} {
		k := &keeping{err: row.err}
		h := NewAdmin(AdminOptions{RevisionStore: k, Metrics: metrics.New(), Rule: auth.Rule{Authenticator: tokens(t, "t,olga,1,ops\nv,vera,2,dev\n"), Operators: []string{"ops"}}})
		r := httptest.NewRequest(row.method, row.path, strings.NewReader(row.body))
		if row.token != "" {
			r.Header.Set("Authorization", "Bearer "+row.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != row.status || strings.Join(k.asked, ", ") != row.asked || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: got %d %s, asked %q; want %d, %q", name, w.Code, w.Body, k.asked, row.status, row.asked)
		}
		if row.err != nil && row.status == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "see the log") {
			t.Errorf("%s: got %s, want to be sent to the log", name, w.Body)
		}
	}
}
