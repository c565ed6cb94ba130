package answers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/source"
)

const proposalDocuments = `== roles.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {token: hunter2}
== bind.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: eve, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
`

// file returns a file of the documents, with a text replaced.
func proposalFile(name, from, to string) console.ProposedFile {
	_, rest, _ := strings.Cut(proposalDocuments, "== "+name+"\n")
	text, _, _ := strings.Cut(rest, "== ")
	return console.ProposedFile{Path: name, Content: strings.Replace(text, from, to, 1)}
}

// A proposal is compared with what is served: files that replace, that are added and that are
// removed, or all files. What is served stays.
func TestProposals(t *testing.T) {
	s := newSite(t, proposalDocuments)
	served := s.active.Loaded().Revision
	auditor := console.Caller{SeesAll: true}
	more := proposalFile("bind.yaml", "metadata: {name: eve, namespace: shop}", "metadata: {name: eve, namespace: stage}")
	more.Path = "more/bind.yml"
	for name, row := range map[string]struct {
		p    console.Proposal
		want []string
	}{
		"nothing":  {console.Proposal{Documents: []console.ProposedFile{}}, nil},
		"replaced": {console.Proposal{Documents: []console.ProposedFile{proposalFile("roles.yaml", "pods", "secrets")}}, []string{"user eve can now get secrets in shop", "user eve can no longer get pods in shop"}},
		"added":    {console.Proposal{Documents: []console.ProposedFile{more}}, []string{"user eve gets ClusterRole reader in stage (get pods)"}},
		"removed":  {console.Proposal{Removed: []string{"bind.yaml"}}, []string{"user eve loses ClusterRole reader in shop (get pods)"}},
		"whole":    {console.Proposal{Documents: []console.ProposedFile{proposalFile("roles.yaml", "", "")}, Whole: true}, []string{"user eve loses ClusterRole reader in shop (get pods)"}},
	} {
		t.Run(name, func(t *testing.T) {
			diff, err := s.explorer.Now().Propose(t.Context(), auditor, &row.p)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range diff.Groups {
				got = append(got, g.Summary)
			}
			if strings.Join(got, "\n") != strings.Join(row.want, "\n") {
				t.Errorf("got %q, want %q", got, row.want)
			}
			for _, text := range diff.Texts {
				if strings.Contains(strings.Join(text.Lines, "\n"), "hunter2") {
					t.Errorf("the difference of %s has a secret", text.File)
				}
			}
			if s.explorer.Now().Revision() != served || diff.A.Revision != served {
				t.Error("another revision is served")
			}
		})
	}
}

// What cannot be compared is refused, with the part that is at fault or the mistakes.
func TestProposalsThatAreRefused(t *testing.T) {
	s := newSite(t, proposalDocuments)
	file := func(path string) console.Proposal {
		return console.Proposal{Documents: []console.ProposedFile{{Path: path, Content: "{}"}}}
	}
	broken := proposalFile("roles.yaml", "verbs: [get]", "verbs: get")
	twice := console.Proposal{Documents: []console.ProposedFile{proposalFile("bind.yaml", "", ""), proposalFile("bind.yaml", "", "")}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		ctx    context.Context
		caller console.Caller
		p      console.Proposal
		reason console.Reason
		want   string
	}{
		"by others":       {t.Context(), console.Caller{User: "eve"}, file("a.yaml"), console.Forbidden, "only auditors"},
		"outside":         {t.Context(), console.Caller{SeesAll: true}, file("../a.yaml"), console.Invalid, "must be a relative path"},
		"absolute":        {t.Context(), console.Caller{SeesAll: true}, file("/a.yaml"), console.Invalid, "must be a relative path"},
		"a line feed":     {t.Context(), console.Caller{SeesAll: true}, file("a\n.yaml"), console.Invalid, "must be a relative path"},
		"no document":     {t.Context(), console.Caller{SeesAll: true}, file("a.txt"), console.Invalid, "must end in .yaml"},
		"settings":        {t.Context(), console.Caller{SeesAll: true}, file("a/.writ.yaml"), console.Invalid, "is not a document"},
		"twice":           {t.Context(), console.Caller{SeesAll: true}, twice, console.Invalid, "listed twice"},
		"removed unknown": {t.Context(), console.Caller{SeesAll: true}, console.Proposal{Removed: []string{"no.yaml"}}, console.Invalid, `file "no.yaml" is not served`},
		"mistakes":        {t.Context(), console.Caller{SeesAll: true}, console.Proposal{Documents: []console.ProposedFile{broken}}, console.Mistaken, "the documents have 1 error: nothing is compared"},
		"cancelled":       {cancelled, console.Caller{SeesAll: true}, console.Proposal{}, console.Busy, "took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.explorer.Now().Propose(row.ctx, row.caller, &row.p)
			var refused *console.Error
			if !errors.As(err, &refused) || refused.Reason != row.reason || !strings.Contains(refused.Message, row.want) {
				t.Fatalf("got %#v, want %q", err, row.want)
			}
			if row.reason == console.Mistaken && (len(refused.Diagnostics) != 1 || refused.Diagnostics[0].File != "roles.yaml" || refused.Diagnostics[0].Line != 4 || refused.Diagnostics[0].Text == "") {
				t.Errorf("got the diagnostics %+v", refused.Diagnostics)
			}
		})
	}
}

// A server of bundles does not have the texts of its documents: all must be sent.
func TestProposalsBesideABundle(t *testing.T) {
	s := newSite(t, proposalDocuments)
	s.explorer.Activate(s.bundle)
	p := console.Proposal{Documents: []console.ProposedFile{proposalFile("roles.yaml", "", "")}}
	var early *console.Error
	if _, err := s.explorer.Now().Propose(t.Context(), console.Caller{SeesAll: true}, &p); !errors.As(err, &early) || early.Reason != console.NotReady {
		t.Errorf("before it is known which texts there are: got %v", err)
	}
	s.explorer.Attempted(Attempt{Activated: true, Revision: s.active.Loaded().Revision, Source: "bundle"})
	_, err := s.explorer.Now().Propose(t.Context(), console.Caller{SeesAll: true}, &p)
	if err == nil || !strings.Contains(err.Error(), `"whole": true`) {
		t.Errorf("got %v", err)
	}
	p.Whole = true
	if diff, err := s.explorer.Now().Propose(t.Context(), console.Caller{SeesAll: true}, &p); err != nil || len(diff.Groups) != 1 {
		t.Errorf("got %v and %v", diff, err)
	}
}

// A revision names the commits of its sources.
func TestCommitsOfRevisions(t *testing.T) {
	s := newSite(t, proposalDocuments)
	origin := source.Origin{Name: "policies", Commit: source.NewCommit("0123456789", "Ada", now, "Grants\n\nfor the shop")}
	s.explorer.Activate(s.bundle)
	s.explorer.Attempted(Attempt{Files: []source.File{}, Origins: []source.Origin{origin, {Name: "folder"}}, Activated: true, Revision: s.active.Loaded().Revision})
	list, err := s.explorer.Now().Revisions(console.Caller{SeesAll: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []console.Commit{{Source: "policies", Commit: "0123456789", Author: "Ada", Date: now, Message: "Grants"}}
	if got := list.Revisions[0].Commits; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
