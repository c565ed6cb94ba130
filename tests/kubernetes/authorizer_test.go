package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// each is how many requests one directory answers: enough that starting writ
// is not what takes the time.
const each = 500

// TestAuthorizer lets Kubernetes' own authorizer and writ decide the same
// requests over the same documents. Not one may differ.
func TestAuthorizer(t *testing.T) {
	worlds := (*requests + each - 1) / each
	if worlds == 0 {
		t.Fatal("no requests")
	}
	next := make(chan uint64)
	var workers sync.WaitGroup
	var lock sync.Mutex
	total, allowed, failed := 0, 0, false
	for range 2 {
		workers.Go(func() {
			for stream := range next {
				g := newGenerator(*seed, stream)
				w := g.world()
				asked := g.requests(w, min(each, *requests-int(stream)*each))
				yes, why := compare(t, w, asked)
				lock.Lock()
				total, allowed = total+len(asked), allowed+yes
				if why != "" && !failed {
					failed = true // one reproduction is enough
					t.Errorf("seed %d, directory %d: %s", *seed, stream, why)
				}
				lock.Unlock()
			}
		})
	}
	for stream := range uint64(worlds) {
		lock.Lock()
		stop := failed
		lock.Unlock()
		if stop {
			break
		}
		next <- stream
	}
	close(next)
	workers.Wait()
	t.Logf("%d requests, %d allowed", total, allowed)
	if !failed && total >= 10_000 && (allowed < total/10 || allowed > total*9/10) {
		t.Errorf("%d of %d requests are allowed: the generator proves little", allowed, total)
	}
}

// requests draws against the filled roles, so that aggregated rules are met too.
func (g generator) requests(w *world, n int) []request {
	filled := w.aggregated()
	asked := make([]request, 0, n)
	for range n {
		asked = append(asked, g.request(filled))
	}
	return asked
}

// compare returns how many requests are allowed, and the smallest reproduction of
// a difference if there is one.
func compare(t testing.TB, w *world, asked []request) (int, string) {
	decisions, err := evaluate(w.write(t), asked)
	if err != nil {
		return 0, fmt.Sprintf("%v\n%s", err, w)
	}
	k := newKubernetes(w)
	allowed := 0
	for i, r := range asked {
		if k.allows(r) {
			allowed++
		}
		if why := k.difference(r, decisions[i]); why != "" {
			return allowed, reproduce(t, w, r, why)
		}
	}
	return allowed, ""
}

// reproduce leaves out documents, rules and subjects one by one as long as the
// difference stays.
func reproduce(t testing.TB, w *world, r request, why string) string {
	for shrunk := true; shrunk; {
		shrunk = false
		for _, smaller := range w.without() {
			decisions, err := evaluate(smaller.write(t), []request{r})
			if err != nil {
				continue // a binding without its role, say
			}
			if less := newKubernetes(smaller).difference(r, decisions[0]); less != "" {
				w, why, shrunk = smaller, less, true
				break
			}
		}
	}
	text, _ := json.Marshal(r)
	return fmt.Sprintf("%s\nrequest: %s\n%s", why, text, w)
}

// without are the worlds that have one document less, or one rule or subject.
func (w *world) without() []*world {
	var smaller []*world
	for i := range w.roleBindings {
		less := *w
		less.roleBindings = slices.Delete(slices.Clone(w.roleBindings), i, i+1)
		smaller = append(smaller, &less)
	}
	for i := range w.clusterRoleBindings {
		less := *w
		less.clusterRoleBindings = slices.Delete(slices.Clone(w.clusterRoleBindings), i, i+1)
		smaller = append(smaller, &less)
	}
	for i := range w.roles {
		less := *w
		less.roles = slices.Delete(slices.Clone(w.roles), i, i+1)
		smaller = append(smaller, &less)
	}
	for i := range w.clusterRoles {
		less := *w
		less.clusterRoles = slices.Delete(slices.Clone(w.clusterRoles), i, i+1)
		smaller = append(smaller, &less)
	}
	return append(smaller, w.withoutParts()...)
}

func (w *world) withoutParts() []*world {
	var smaller []*world
	for i, role := range w.roles {
		for j := range role.Rules {
			less := *w
			less.roles = slices.Clone(w.roles)
			less.roles[i] = role.DeepCopy()
			less.roles[i].Rules = slices.Delete(less.roles[i].Rules, j, j+1)
			smaller = append(smaller, &less)
		}
	}
	for i, role := range w.clusterRoles {
		for j := range role.Rules {
			less := *w
			less.clusterRoles = slices.Clone(w.clusterRoles)
			less.clusterRoles[i] = role.DeepCopy()
			less.clusterRoles[i].Rules = slices.Delete(less.clusterRoles[i].Rules, j, j+1)
			smaller = append(smaller, &less)
		}
	}
	for i, b := range w.roleBindings {
		for j := range b.Subjects {
			less := *w
			less.roleBindings = slices.Clone(w.roleBindings)
			less.roleBindings[i] = b.DeepCopy()
			less.roleBindings[i].Subjects = slices.Delete(less.roleBindings[i].Subjects, j, j+1)
			smaller = append(smaller, &less)
		}
	}
	for i, b := range w.clusterRoleBindings {
		for j := range b.Subjects {
			less := *w
			less.clusterRoleBindings = slices.Clone(w.clusterRoleBindings)
			less.clusterRoleBindings[i] = b.DeepCopy()
			less.clusterRoleBindings[i].Subjects = slices.Delete(less.clusterRoleBindings[i].Subjects, j, j+1)
			smaller = append(smaller, &less)
		}
	}
	return smaller
}

func (w *world) String() string {
	var all strings.Builder
	for _, p := range w.documents() {
		text, err := document(p.kind, p.object)
		if err != nil {
			return err.Error()
		}
		all.WriteString("---\n" + string(text))
	}
	return all.String()
}

// decider is Kubernetes over the filled world: as a whole for the answer, and
// binding by binding for what matched.
type decider struct {
	whole    *rbac.RBACAuthorizer
	bindings []binding
}

type binding struct {
	kind, namespace, name string
	aggregated            bool
	resolver              validation.AuthorizationRuleResolver
}

func newKubernetes(w *world) *decider {
	w = w.aggregated()
	_, static := validation.NewTestRuleResolver(w.roles, w.roleBindings, w.clusterRoles, w.clusterRoleBindings)
	k := &decider{whole: rbac.New(static, static, static, static)}
	for _, b := range w.roleBindings {
		alone, _ := validation.NewTestRuleResolver(w.roles, []*rbacv1.RoleBinding{b}, w.clusterRoles, nil)
		k.bindings = append(k.bindings, binding{"RoleBinding", b.Namespace, b.Name, w.isAggregated(b.RoleRef), alone})
	}
	for _, b := range w.clusterRoleBindings {
		alone, _ := validation.NewTestRuleResolver(w.roles, nil, w.clusterRoles, []*rbacv1.ClusterRoleBinding{b})
		k.bindings = append(k.bindings, binding{"ClusterRoleBinding", "", b.Name, w.isAggregated(b.RoleRef), alone})
	}
	return k
}

func (w *world) isAggregated(ref rbacv1.RoleRef) bool {
	return ref.Kind == "ClusterRole" && slices.ContainsFunc(w.clusterRoles, func(r *rbacv1.ClusterRole) bool {
		return r.Name == ref.Name && r.AggregationRule != nil
	})
}

func (k *decider) allows(r request) bool {
	answer, _, err := k.whole.Authorize(context.Background(), r.attributes())
	return err == nil && answer == authorizer.DecisionAllow
}

// difference describes how writ's decision differs, "" if it does not. In a cycle of
// aggregated roles nothing determines the order of the rules, so of those only
// the number is compared.
func (k *decider) difference(r request, d decision) string {
	if d.Error != nil {
		return "writ takes it for no request: " + d.Error.Message
	}
	if want := k.allows(r); d.Allowed != want || d.Denied {
		return fmt.Sprintf("writ: allowed %v, denied %v; Kubernetes: allowed %v", d.Allowed, d.Denied, want)
	}
	var got, want []string
	aggregated := map[string]bool{}
	for _, b := range k.bindings {
		name := fmt.Sprintf("%s %s/%s", b.kind, b.namespace, b.name)
		aggregated[name] = b.aggregated
		rules, err := b.resolver.RulesFor(context.Background(), r.attributes().GetUser(), r.Namespace)
		if err != nil {
			return err.Error()
		}
		for i := range rules {
			if rbac.RuleAllows(r.attributes(), &rules[i]) {
				want = append(want, ruleOf(name, i, b.aggregated))
			}
		}
	}
	for _, m := range d.Matched {
		name := fmt.Sprintf("%s %s/%s", m.Kind, m.Namespace, m.Name)
		got = append(got, ruleOf(name, m.Rule, aggregated[name]))
	}
	slices.SortFunc(got, cmp.Compare[string])
	slices.SortFunc(want, cmp.Compare[string])
	if !slices.Equal(got, want) {
		return fmt.Sprintf("writ matched %q; Kubernetes: %q", got, want)
	}
	return ""
}

func ruleOf(name string, rule int, aggregated bool) string {
	if aggregated {
		return name
	}
	return fmt.Sprintf("%s rule %d", name, rule)
}
