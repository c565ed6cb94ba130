package views

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/tests/revisions"
)

// searched returns the view of risks once they are searched.
func (s *site) searched(query string) node {
	s.Helper()
	body := s.until("/page/risks?"+query, func(status int, _ []byte) bool { return status == http.StatusOK })
	document, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	return node{document}
}

// risks compares the view of risks with the endpoint, by code, and with each filter.
func (s *site) risks() {
	for _, query := range []string{"", "severity=medium", "subject=SHOP-dev", "code=risk-create-workloads", "code=risk-exec&severity=low&subject=shop"} {
		v, found := s.searched(query), answer[console.Risks](s, "/v1/risks?limit=1000&"+query)
		var got, want []string
		for _, n := range v.named("Risks by severity").tags("a") {
			got = append(got, n.text())
		}
		for _, severity := range []string{"critical", "high", "medium", "low"} {
			if n := found.Severities[severity]; n > 0 {
				want = append(want, fmt.Sprintf("%d %s", n, severity))
			}
		}
		equal(s, query+", severities", got, want)
		for _, code := range found.Codes {
			got, want = nil, nil
			for _, row := range v.named("Can " + code.Can).rows() {
				got = append(got, strings.Join(row[:len(row)-1], " | "))
			}
			for _, r := range found.Risks {
				if r.Code != code.Code {
					continue
				}
				var subjects []string
				for _, p := range r.Subjects {
					subjects = append(subjects, principal(p))
				}
				want = append(want, strings.Join([]string{r.Severity, strings.Join(subjects, ", "), r.Where, r.Binding + " " + r.Source, "rule at " + r.RuleSource}, " | "))
			}
			equal(s, query+" "+code.Code, got, want)
			about, _, hasLevel := strings.Cut(code.Text, " The level is ") // which the view states once
			if text := v.text(); !strings.Contains(text, code.Remedy) || !strings.Contains(text, about) || hasLevel && strings.Count(text, "The level is ") != 1 {
				s.Errorf("%s: the view has not %q, %q and how levels are made, once", code.Code, about, code.Remedy)
			}
		}
	}
	if v := s.searched("subject=none-of-them").text(); !strings.Contains(v, "No risk fits this filter") {
		s.Errorf("got %s", v)
	}
}

// In random worlds the question behind each risk, opened by its link, is allowed, and by the
// binding of the risk: the answer names it unless another one allows the same, and without
// the other bindings the question is allowed as well.
func TestQuestionsOfRisks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "risky.yaml"), []byte("{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: none}, rules: []}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir)
	if v := s.searched("").text(); !strings.Contains(v, "No grant of these documents is dangerous") {
		t.Errorf("without a risk: got %s", v)
	}
	random := revisions.Random{Rand: rand.New(rand.NewPCG(3, 5))}
	asked, named := 0, 0
	for range 12 {
		documents := random.Risky() // each is a line
		s.write("risky.yaml", []byte(strings.Join(documents, "\n---\n")))
		alone := make(map[int]*diff.Side) // by the index of the binding
		for _, row := range s.searched("").tags("tr") {
			cells := row.tags("td")
			if len(cells) < 4 {
				continue // a header, or a row of the list of keys
			}
			links := row.tags("a")
			href := links[len(links)-1].attribute("href")
			place := cells[len(cells)-3].tags("a")[0].text() // that of the binding
			answer := s.view(href)
			if got := answer.named("Outcome").text(); got != words[console.Allow] {
				t.Errorf("%s: got %s\n%s", href, got, strings.Join(documents, "\n"))
			}
			var line int
			if _, err := fmt.Sscanf(place, "risky.yaml:%d", &line); err != nil {
				t.Fatal(err)
			}
			at := (line - 1) / 2
			if alone[at] == nil {
				alone[at] = revisions.Of(t, slices.DeleteFunc(slices.Clone(documents), func(d string) bool { return isBinding(d) && d != documents[at] }))
			}
			if got := revisions.Outcome(t, alone[at], requestOf(t, href)); got != console.Allow {
				t.Errorf("%s: got %s by the binding at %s alone\n%s", href, got, place, strings.Join(documents, "\n"))
			}
			decisive := answer.all(func(n node) bool { return n.Data == "li" && strings.Contains(n.text(), states[console.Decides]) })
			if len(decisive) == 1 && slices.ContainsFunc(decisive[0].tags("a"), func(a node) bool { return a.text() == place }) {
				named++
			}
			asked++
		}
	}
	if asked < 50 || named < asked*3/4 {
		t.Errorf("%d questions were asked and %d answers name their binding, which proves little", asked, named)
	}
}

func isBinding(document string) bool {
	return strings.HasPrefix(document, "{kind: RoleBinding") || strings.HasPrefix(document, "{kind: ClusterRoleBinding")
}

// requestOf is the request of a link to Ask.
func requestOf(t *testing.T, href string) map[string]any {
	t.Helper()
	u, err := url.Parse(href)
	if err != nil {
		t.Fatal(err)
	}
	request := map[string]any{"user": ""}
	for name, values := range u.Query() {
		if request[name] = values[0]; name == "groups" {
			request[name] = strings.Split(values[0], ",")
		}
	}
	return request
}
