package page

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// form is the body of a form with values and files, and its type.
func form(t *testing.T, values map[string]string, files map[string]string) (body, contentType string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for name, value := range values {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		part, err := w.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(part, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), w.FormDataContentType()
}

// Documents of the form are compared as they are sent, and mistakes leave them in the form.
func TestProposal(t *testing.T) {
	for name, row := range map[string]struct {
		values, files map[string]string
		token         string
		status        int
		want, asked   string
	}{
		"a text": {
			map[string]string{"path": "a.yaml", "text": "kind: Role"}, nil, "auditor",
			http.StatusOK, "Eve can now get, list pods in hammer", `{[{a.yaml kind: Role
}] [] false  }`,
		},
		"a reference": {
			map[string]string{"ref": " team/x ", "source": "prod"}, nil, "auditor", http.StatusOK, "and then team/x", `{[] [] false team/x prod}`,
		},
		"a reference that is not there":    {map[string]string{"ref": "none"}, nil, "auditor", http.StatusBadRequest, `value="none"`, ""},
		"a repository that cannot be read": {map[string]string{"ref": "slow"}, nil, "auditor", http.StatusServiceUnavailable, "The transfer stalled.", ""},
		"a source without a reference": {
			map[string]string{"path": "a.yaml", "text": "kind: Role", "source": "prod"}, nil, "auditor", http.StatusOK, "Eve can now", `{[{a.yaml kind: Role
}] [] false  }`,
		},
		"a file of a folder, and the rest": {
			map[string]string{"folder": "teams/shop", "removed": "b.yaml\r\nc.yaml", "whole": "1"}, map[string]string{"r.yaml": "kind: Role"}, "auditor",
			http.StatusOK, "Eve can now", `{[{teams/shop/r.yaml kind: Role}] [b.yaml c.yaml] true  }`,
		},
		"mistakes": {
			map[string]string{"path": "a.yaml", "text": "role: edti"}, nil, "auditor",
			http.StatusUnprocessableEntity, `role &#34;&lt;edti&gt;&#34; is not declared`, "",
		},
		"the text after mistakes": {map[string]string{"path": "a.yaml", "text": "role: edti"}, nil, "auditor", http.StatusUnprocessableEntity, ">role: edti</textarea>", ""},
		"a file that is not there": {
			map[string]string{"removed": "none.yaml"}, nil, "auditor", http.StatusBadRequest, "is not served", "",
		},
		"nothing":         {map[string]string{"path": "a.yaml"}, nil, "auditor", http.StatusBadRequest, "Paste a document", "<nil>"},
		"too much":        {nil, map[string]string{"a.yaml": strings.Repeat("x", maxProposal)}, "auditor", http.StatusBadRequest, "4 MiB", "<nil>"},
		"another caller":  {map[string]string{"path": "a.yaml", "text": "kind: Role"}, nil, "developer", http.StatusForbidden, "auditors", "<nil>"},
		"without a token": {map[string]string{"path": "a.yaml", "text": "kind: Role"}, nil, "none", http.StatusUnauthorized, "Token", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Caller = byToken
			console := record(t)
			o.Console = console
			body, contentType := form(t, row.values, row.files)
			w := send(New(o), http.MethodPost, proposalPath, body, "Content-Type", contentType, "Authorization", "Bearer "+row.token)
			if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
				t.Errorf("got %d %s, want %d and %s", w.Code, w.Body, row.status, row.want)
			}
			asked := "<nil>"
			if console.proposed != nil {
				asked = fmt.Sprint(*console.proposed)
			}
			if row.asked != "" && asked != row.asked {
				t.Errorf("asked for %s, want %s", asked, row.asked)
			}
			for _, fault := range faults(w.Body.String()) {
				if row.status != http.StatusUnauthorized {
					t.Error(fault)
				}
			}
		})
	}
	body, contentType := form(t, map[string]string{"path": "a.yaml", "text": "x"}, nil)
	if w := send(New(options(t)), http.MethodPost, proposalPath, body, "Content-Type", contentType, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("from another site: got %d", w.Code)
	}
}
