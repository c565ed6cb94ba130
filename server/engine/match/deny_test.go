package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

func globs(t *testing.T, patterns ...string) (list []tables.PathGlob) {
	t.Helper()
	for _, pattern := range patterns {
		g, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			t.Fatalf("%s %s", pattern, problem)
		}
		list = append(list, g)
	}
	return list
}

// Each row changes one property of a request that a rule or pod security matches. False
// means that no policy can concern the request, so each false row must be certain.
func TestDenialsCanConcern(t *testing.T) {
	rule := tables.DenyRule{
		Actions:    []tables.DenyAction{{Verbs: []string{"delete", "exec"}, Groups: []string{"apps"}}, {VerbPrefix: "impersonate:"}},
		Resources:  []tables.DenyResource{{Resources: []string{"deployments"}, Subresources: []string{"", "scale"}}, {NeedsSubresource: true, Resources: []string{"sets"}}},
		Namespaces: &tables.NamespaceFilter{Patterns: globs(t, "prod-*")},
		Names:      globs(t, "web", "locked-*"),
		NeedsName:  true,
	}
	everywhere := tables.DenyRule{Actions: []tables.DenyAction{{Verbs: []string{"bind"}}}, Resources: []tables.DenyResource{{}}}
	labelled := tables.DenyRule{
		Actions: []tables.DenyAction{{Verbs: []string{"label"}}}, Resources: []tables.DenyResource{{}},
		Namespaces: &tables.NamespaceFilter{Terms: [][]tables.LabelRequirement{{{Key: "k", Operator: "Exists"}}}},
	}
	d := NewDenials(tables.List{&tables.Deny{Policies: []tables.DenyPolicy{
		{Name: "p", Rules: []tables.DenyRule{rule}, Clusters: globs(t, "c*"), Sessions: globs(t, "s"), ReferredBy: []string{"e"}},
		{Rules: []tables.DenyRule{everywhere, labelled}, Tenants: globs(t, "t")},
		{Pod: &tables.PodSecurity{Subresources: []string{"exec"}}},
		{Impersonation: []tables.ImpersonationRule{{}}, Tenants: globs(t, "impersonated")},
	}}})
	first := decision.Request{Verb: "delete", APIGroup: "apps", Resource: "deployments", Namespace: "prod-1", Name: "web", Cluster: "c1", Session: "s"}
	second := decision.Request{Verb: "bind", Resource: "x", Tenant: "t"}
	pod := decision.Request{Verb: "create", Resource: "pods", Subresource: "exec"}
	unnamed := func(r *decision.Request) { r.Session = "" }
	for name, row := range map[string]struct {
		request decision.Request
		change  func(r *decision.Request)
		valid   []Session
		want    bool
	}{
		"as it is":                    {request: first, want: true},
		"another verb":                {request: first, change: func(r *decision.Request) { r.Verb = "get" }},
		"a verb of another action":    {request: first, change: func(r *decision.Request) { r.Verb, r.APIGroup = "impersonate:user-info", "" }, want: true},
		"another group":               {request: first, change: func(r *decision.Request) { r.APIGroup = "" }},
		"another resource":            {request: first, change: func(r *decision.Request) { r.Resource = "pods" }},
		"a named subresource":         {request: first, change: func(r *decision.Request) { r.Subresource = "scale" }, want: true},
		"another subresource":         {request: first, change: func(r *decision.Request) { r.Subresource = "status" }},
		"a required subresource":      {request: first, change: func(r *decision.Request) { r.Resource = "sets" }},
		"with a required subresource": {request: first, change: func(r *decision.Request) { r.Resource, r.Subresource = "sets", "any" }, want: true},
		"another namespace":           {request: first, change: func(r *decision.Request) { r.Namespace = "dev" }},
		"another name":                {request: first, change: func(r *decision.Request) { r.Name = "weblog" }},
		"a name of a pattern":         {request: first, change: func(r *decision.Request) { r.Name = "locked-1" }, want: true},
		"a name too long to match":    {request: first, change: func(r *decision.Request) { r.Name = strings.Repeat("x", maxMatched+1) }, want: true},
		"another cluster":             {request: first, change: func(r *decision.Request) { r.Cluster = "d" }},
		"another session":             {request: first, change: func(r *decision.Request) { r.Session = "" }},
		"an escalation":               {request: first, change: func(r *decision.Request) { r.Session, r.Escalation = "", "e" }, want: true},
		"a valid session":             {request: first, change: unnamed, valid: []Session{{Session: &tables.Session{Name: "t"}}, {Session: &tables.Session{Name: "s"}}}, want: true},
		"a session that attaches it":  {request: first, change: unnamed, valid: []Session{{Session: &tables.Session{Name: "t", Policies: []string{"p"}}}}, want: true},
		"a session of its owner":      {request: first, change: unnamed, valid: []Session{{Session: &tables.Session{Name: "t", Owner: "e"}}}, want: true},
		"a valid session of another":  {request: first, change: unnamed, valid: []Session{{Session: &tables.Session{Name: "t", Owner: "f", Policies: []string{"q"}}}}},
		"a session elsewhere": {
			request: first, valid: []Session{{Session: &tables.Session{Name: "s", Owner: "e", Policies: []string{"p"}}}},
			change: func(r *decision.Request) { r.Session, r.Cluster = "", "d" },
		},
		"an impersonation":           {request: first, change: func(r *decision.Request) { r.Verb = "impersonate:node" }, want: true},
		"an impersonation on a path": {request: decision.Request{Verb: "impersonate-on:user-info:get", Path: "/x"}, want: true},
		"a form of an impersonation": {request: decision.Request{Verb: "IMPERSONATE", Path: "/x"}, want: true},
		"a path":                     {request: first, change: func(r *decision.Request) { r.Path = "/x" }},
		"another form matches": {
			request: first, change: func(r *decision.Request) { r.Verb = "DELETE" },
			want: true,
		},
		"every resource":              {request: second, want: true},
		"another tenant":              {request: second, change: func(r *decision.Request) { r.Tenant = "u" }},
		"labels of the cluster scope": {request: second, change: func(r *decision.Request) { r.Verb = "label" }},
		"labels of a namespace":       {request: second, change: func(r *decision.Request) { r.Verb, r.Namespace = "label", "n" }, want: true},
		"a pod":                       {request: pod, want: true},
		"a pod of another group":      {request: pod, change: func(r *decision.Request) { r.APIGroup = "metrics.k8s.io" }},
		"a pod itself":                {request: pod, change: func(r *decision.Request) { r.Subresource = "" }},
		"a form of a pod":             {request: pod, change: func(r *decision.Request) { r.Subresource, r.Verb = "", "exec" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := row.request
			if row.change != nil {
				row.change(&r)
			}
			if got := d.CanConcern(&r, FormsOf(&r, nil), row.valid); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
	if !NewDenials(nil).CanConcern(&first, FormsOf(&first, nil), nil) {
		t.Error("unknown policies can concern nothing")
	}
	if NewDenials(tables.List{&tables.Deny{}}).CanConcern(&first, FormsOf(&first, nil), nil) {
		t.Error("no policies can concern a request")
	}
}

// Sessions are not read where no policy that matches names sessions or escalations, or judges pods.
func TestReadsSessions(t *testing.T) {
	rules := func(resource string) []tables.DenyRule {
		return []tables.DenyRule{{Actions: []tables.DenyAction{{Verbs: []string{"get"}}}, Resources: []tables.DenyResource{{Resources: []string{resource}}}}}
	}
	policies := []tables.DenyPolicy{
		{Name: "everywhere", Rules: rules("secrets")},
		{Name: "cluster", Rules: rules("nodes"), Clusters: globs(t, "c*")},
		{Name: "both", Rules: rules("both")},
		{Name: "session", Rules: rules("both"), Sessions: globs(t, "s")},
		{Name: "pods", Pod: &tables.PodSecurity{Subresources: []string{"exec"}}},
	}
	d := NewDenials(tables.List{&tables.Deny{Policies: policies}})
	for name, row := range map[string]struct {
		request decision.Request
		want    bool
	}{
		"in scope everywhere":      {decision.Request{Verb: "get", Resource: "secrets"}, false},
		"in scope by the cluster":  {decision.Request{Verb: "get", Resource: "nodes", Cluster: "c1"}, false},
		"not in scope":             {decision.Request{Verb: "get", Resource: "nodes", Cluster: "d"}, false},
		"one of two by a session":  {decision.Request{Verb: "get", Resource: "both"}, true},
		"another verb of that one": {decision.Request{Verb: "list", Resource: "both"}, false},
		"a pod":                    {decision.Request{Verb: "create", Resource: "pods", Subresource: "exec"}, true},
	} {
		if got := d.ReadsSessions(&row.request, FormsOf(&row.request, nil)); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
	if !NewDenials(nil).ReadsSessions(new(decision.Request), Forms{}) {
		t.Error("unknown policies read no sessions")
	}
	impersonation := tables.DenyPolicy{Name: "impersonation", Impersonation: []tables.ImpersonationRule{{}}}
	if d := NewDenials(tables.List{&tables.Deny{Policies: append(policies, impersonation)}}); !d.ReadsSessions(&decision.Request{Verb: "get", Resource: "secrets"}, FormsOf(&decision.Request{Verb: "get", Resource: "secrets"}, nil)) {
		t.Error("rules about impersonation, which Rego matches, read no sessions")
	}
}

// Of the rules that deny a request at an instant the first in the order of evaluation is found,
// unless pods are judged or what a rule compares is not stated.
func TestFirstDenial(t *testing.T) {
	everything := []tables.DenyAction{{}}
	on := func(number int, resource string) tables.DenyRule {
		return tables.DenyRule{Rule: number, Actions: everything, Resources: []tables.DenyResource{{Resources: []string{resource}}}}
	}
	labelled := on(0, "unknown")
	labelled.Namespaces = &tables.NamespaceFilter{Terms: [][]tables.LabelRequirement{{{Key: "k", Operator: tables.Exists}}}}
	from, until := dates.Instant(10), dates.Instant(20)
	d := NewDenials(tables.List{&tables.Deny{Policies: []tables.DenyPolicy{
		{Name: "b", Precedence: 5, Rules: []tables.DenyRule{on(0, "x"), on(1, "pods"), on(2, "pods")}},
		{Name: "c", Precedence: 5, Rules: []tables.DenyRule{on(0, "pods")}},
		{Name: "a", Precedence: 9, Rules: []tables.DenyRule{on(0, "pods"), on(1, "unknown"), labelled}},
		{Name: "z", Precedence: 1, Rules: []tables.DenyRule{on(3, "pods")}, Dates: &dates.Period{From: &from, Until: &until}},
		{Name: "s", Precedence: 2, Rules: []tables.DenyRule{on(0, "pods")}, Sessions: globs(t, "s")},
		{Name: "p", Precedence: 99, Pod: &tables.PodSecurity{Subresources: []string{"exec"}}, Dates: &dates.Period{From: &from}},
		{Name: "i", Precedence: 99, Impersonation: []tables.ImpersonationRule{{}}},
	}}})
	session := []Session{{Session: &tables.Session{Name: "r"}}, {Session: &tables.Session{Name: "s"}}}
	for name, row := range map[string]struct {
		request decision.Request
		valid   []Session
		at      dates.Instant
		want    string
	}{
		"nothing":                          {request: decision.Request{Verb: "get", Resource: "y"}, want: "none"},
		"a path":                           {request: decision.Request{Verb: "get", Path: "/pods"}, want: "none"},
		"name and rule":                    {request: decision.Request{Verb: "get", Resource: "pods"}, want: "b 1"},
		"another form":                     {request: decision.Request{Verb: "GET", Resource: "Pod"}, want: "b 1"},
		"precedence, before it begins":     {request: decision.Request{Verb: "get", Resource: "pods"}, at: 9, want: "b 1"},
		"precedence, from its begin":       {request: decision.Request{Verb: "get", Resource: "pods"}, at: 10, want: "z 3"},
		"precedence, before its end":       {request: decision.Request{Verb: "get", Resource: "pods"}, at: 19, want: "z 3"},
		"precedence, at its end":           {request: decision.Request{Verb: "get", Resource: "pods"}, at: 20, want: "b 1"},
		"the session of the request":       {request: decision.Request{Verb: "get", Resource: "pods", Session: "s"}, want: "s 0"},
		"a valid session":                  {request: decision.Request{Verb: "get", Resource: "pods"}, valid: session, want: "s 0"},
		"labels that are not stated":       {request: decision.Request{Verb: "get", Resource: "unknown", Namespace: "n"}, want: "for Rego"},
		"labels that Rego reads":           {request: decision.Request{Verb: "get", Resource: "unknown", Namespace: "n", NamespaceLabels: map[string]string{}}, want: "for Rego"},
		"labels outside of namespaces":     {request: decision.Request{Verb: "get", Resource: "unknown"}, want: "a 1"},
		"a pod":                            {request: decision.Request{Verb: "create", Resource: "pods", Subresource: "exec"}, at: 10, want: "for Rego"},
		"a pod before its policy begins":   {request: decision.Request{Verb: "create", Resource: "pods", Subresource: "exec"}, at: 9, want: "b 1"},
		"an impersonation":                 {request: decision.Request{Verb: "impersonate", Resource: "users"}, want: "for Rego"},
		"an impersonation in another form": {request: decision.Request{Verb: "Impersonate", Path: "/x"}, want: "for Rego"},
	} {
		t.Run(name, func(t *testing.T) {
			first, isKnown := d.First(&row.request, FormsOf(&row.request, map[string][]string{"pod": {"pods"}}), row.valid, row.at)
			got := "none"
			switch {
			case !isKnown:
				got = "for Rego"
			case first != nil:
				got = fmt.Sprintf("%s %d", first.Policy.Name, first.Rule.Rule)
			}
			if got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	if _, isKnown := (*Denials)(nil).First(&decision.Request{}, Forms{}, nil, 0); isKnown {
		t.Error("policies that are unknown are for Rego")
	}
}
