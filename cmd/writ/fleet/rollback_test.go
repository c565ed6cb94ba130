package fleet

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

// Text from bundles and servers is never written to the terminal unquoted.
func TestRollbackWritesPlainText(t *testing.T) {
	t.Setenv(adminTokenVariable, "t")
	for path, answer := range map[string]string{
		"revisions": `{"revisions":[{"revision":"r\u001b[31m","commit":"c\u001b]0;x\u0007"}]}`,
		"problem":   `{"detail":"no\u001b[31m"}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if path == "problem" {
				w.WriteHeader(http.StatusConflict)
			}
			_, _ = w.Write([]byte(answer))
		}))
		var out bytes.Buffer
		admin, err := (&rollbackOptions{server: server.URL}).newAdminClient()
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.list(t.Context(), cli.Streams{Out: &out}, "text"); err != nil {
			out.WriteString(err.Error())
		}
		server.Close()
		if got := out.String(); !strings.Contains(got, `\u001b`) || strings.ContainsAny(got, "\x1b\a") {
			t.Errorf("%s: got %q", path, got)
		}
	}
}
