package api

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

const fakeRevision = "rev-1"

// fake decides by a few words of the request, and records what it is asked.
type fake struct {
	decision.Unavailable
	mu    sync.Mutex // held to read and write asked
	asked []string
	// inside, if set, receives at each evaluation, which then waits for release.
	inside, release chan struct{}
}

func (f *fake) remember(what string, r *decision.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what+" "+string(r.Encode()))
}

func (f *fake) questions() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.asked, "\n")
}

func (f *fake) AtNow() decision.Policies { return f }

func (f *fake) Loaded() *decision.Loaded {
	return &decision.Loaded{Revision: fakeRevision, Sequence: 5}
}

func (f *fake) Lists() decision.Lists { return f }

func (f *fake) Access(ctx context.Context, r *decision.Request) decision.Decision {
	if r.IsAlone() {
		return f.alone(r)
	}
	f.remember("evaluate", r)
	if f.inside != nil {
		f.inside <- struct{}{}
		<-f.release
	}
	d := decision.Decision{Revision: fakeRevision, Warnings: []string{}, Matched: []decision.Matched{}}
	admin := slices.Contains(r.Groups, "admins")
	switch {
	case r.Verb == "panic":
		panic("a secret of the engine")
	case r.Verb == "slow":
		<-ctx.Done()
		d = d.Failed(decision.CheckContext(ctx).Error())
	case r.Verb == "fails":
		d = d.Failed("no revision loaded")
	case r.Verb == "both": // what no engine should say
		d.Allowed, d.Denied, d.Reason = true, true, "both"
	case r.Verb == "delete":
		d.Denied = true
		d.Reason = "denied by RoleBinding hammer/careful (Role hammer/no-deletes, rule 0); would be allowed by RoleBinding hammer/editors (Role master/edit, rule 0) until 2099-01-01T00:00:00Z"
		d.Matched = append(d.Matched, matched("deny", "hammer", "careful", "hammer", "no-deletes"), matched("allow", "hammer", "editors", "master", "edit"))
		d.Matched[1].Until = "2099-01-01T00:00:00Z"
	case r.User == "clark" || admin:
		d.Allowed = true
		d.Reason = "allowed by RoleBinding master/admins (Role master/cluster-admin, rule 0)"
		d.Matched = append(d.Matched, matched("allow", "master", "admins", "master", "cluster-admin"))
	default:
		d.Reason = "not allowed: no rule allows " + r.Verb + " " + r.Resource + r.Path
	}
	if r.Verb == "update" && r.Labels == nil {
		d.Warnings = append(d.Warnings, "RoleBinding hammer/labelers rule 1: labelsContain undecidable: labels are not known")
	}
	return d
}

func matched(effect, namespace, name, roleNamespace, role string) decision.Matched {
	return decision.Matched{
		Kind: "RoleBinding", Namespace: namespace, Name: name, Source: name + ".yaml:7", Effect: effect,
		APIVersion: "writ.dev/v1", Role: &decision.RoleRef{Kind: "Role", Namespace: roleNamespace, Name: role},
	}
}

// alone decides requests of principals of bindings.
func (f *fake) alone(r *decision.Request) decision.Decision {
	d := decision.Decision{Allowed: r.Verb != "none" && r.User+strings.Join(r.Groups, "") != "", Revision: fakeRevision}
	if r.User == "" && r.Groups == nil {
		f.remember("who can", r)
		if f.inside != nil {
			f.inside <- struct{}{}
			<-f.release
		}
	}
	switch {
	case r.Verb == "panic":
		panic("a secret of the engine")
	case r.Verb == "fails":
		return d.Failed("no revision loaded")
	case r.User == "zoe" && (r.Verb == "delete" || r.Verb == "none"):
		d.Allowed, d.Denied, d.Matched = false, true, []decision.Matched{matched("deny", "hammer", "careful", "hammer", "no-deletes")}
		d.Warnings = append(d.Warnings, "RoleBinding hammer/labelers rule 1: labelsContain undecidable: labels are not known")
	}
	return d
}

func (f *fake) At(time.Time) decision.Policies { return f }

// openRule is that of a listener on loopback without credentials; httptest asks
// example.com.
var openRule = auth.Rule{Loopback: true, AllowedHosts: []string{"example.com"}}

// endpoints returns metrics and the options of a handler before f, changed by change.
func endpoints(f *fake, change func(*Options)) (*metrics.Metrics, Options) {
	m := metrics.New()
	o := Options{Current: serving(f), Metrics: m, Cache: forgetting{fake: f}, Rule: openRule}
	if change != nil {
		change(&o)
	}
	return m, o
}

// serving is a Current that always returns p.
func serving(p decision.Policies) func() decision.Policies {
	return func() decision.Policies { return p }
}

// forgetting keeps nothing and records what it is to forget.
type forgetting struct{ fake *fake }

func (k forgetting) Forget(_ decision.Policies, user string) int {
	k.fake.say("forget %q", user)
	return len(user)
}

// Tables have one role of each form, and bindings in two namespaces.
func (f *fake) Tables() *tables.Revision {
	edit, own := tables.RoleKey(tables.FamilyOrigin, "master", "edit"), tables.RoleKey(tables.FamilyOrigin, "hammer", "labeler")
	editors, labelers := tables.BindingKey(tables.FamilyOrigin, "hammer", "editors"), tables.BindingKey(tables.FamilyOrigin, "master", "labelers")
	value := "yes"
	access := &tables.Access{
		Master: "master",
		Roles: tables.MapOf(map[string]tables.Role{
			edit: {Family: tables.FamilyOrigin, Kind: "Role", Namespace: "master", Name: "edit", Origin: []tables.OriginRule{
				{Verbs: []string{"*"}, Kinds: []string{"*"}, NotKinds: []string{"policies", "roles"}},
			}},
			own: {Family: tables.FamilyOrigin, Kind: "Role", Namespace: "hammer", Name: "labeler", Origin: []tables.OriginRule{
				{Verbs: []string{"update"}, Kinds: []string{"pods"}, Restrictions: &tables.Restrictions{Fields: []string{"metadata.labels"}}},
				{Deny: true, Verbs: []string{"delete"}, Kinds: []string{"pods"}, Restrictions: &tables.Restrictions{Labels: []tables.Entry{{Key: "kept", Value: &value}}}},
			}},
			"kubernetes:hammer/view": {Family: tables.FamilyKubernetes, Kind: "Role", Namespace: "hammer", Name: "view"},
		}),
		Bindings: tables.MapOf(map[string]tables.Binding{
			editors:                  {Family: tables.FamilyOrigin, Kind: "RoleBinding", Namespace: "hammer", Name: "editors", Role: edit},
			labelers:                 {Family: tables.FamilyOrigin, Kind: "RoleBinding", Namespace: "master", Name: "labelers", Role: own, Cluster: true},
			"kubernetes:hammer/view": {Family: tables.FamilyKubernetes, Kind: "RoleBinding", Namespace: "hammer", Name: "view", Role: "kubernetes:hammer/view"},
		}),
		Subjects: tables.Subjects{
			Cluster: tables.MapOf(map[string][]string{"user:bot": {labelers}}),
			Namespaces: tables.MapOf(map[string]tables.Map[[]string]{"hammer": tables.MapOf(map[string][]string{
				"user:zoe": {editors, "kubernetes:hammer/view"}, "user:edgar": {editors}, "group:user:s": {editors},
			})}),
		},
	}
	return &tables.Revision{Tables: tables.List{access}}
}
