package reach_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
)

func account(namespace, name string) string {
	return "user:system:serviceaccount:" + namespace + ":" + name
}

var (
	namespaces = []string{"n0", "n1"}
	users      = []string{"u0", "u1", "own", "other"}
	groups     = []string{"g0", "system:serviceaccounts", "system:masters"}
	accounts   = []string{account("n0", "sa"), account("n0", "default"), account("n1", "sa"), account("n1", "default")}
	subjects   = slices.Concat([]string{"user:u0", "user:u1", "user:own", "group:g0", "group:system:serviceaccounts"}, accounts)
)

// who is an identity of the naive search.
type who struct {
	user   string
	groups []string
	mode   string // in which it acts
	by     *who
	sink   bool
}

func (w *who) key() string {
	if w == nil {
		return ""
	}
	return strings.Join([]string{w.user, strings.Join(w.groups, ","), w.mode, w.by.key()}, "|")
}

func identity(p string) *who {
	kind, name, _ := strings.Cut(p, ":")
	if kind == "group" {
		return &who{groups: sorted(name, "system:authenticated")}
	}
	if parts := strings.Split(name, ":"); len(parts) == 4 && parts[1] == "serviceaccount" {
		return &who{user: name, groups: sorted("system:authenticated", "system:serviceaccounts", "system:serviceaccounts:"+parts[2])}
	}
	return &who{user: name, groups: []string{"system:authenticated"}}
}

func sorted(list ...string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// cost is how a subject is reached: the worst class of its hops, and their number.
type cost struct {
	class reach.Class
	hops  int
}

func (c cost) isBetter(o cost) bool {
	return c.class < o.class || c.class == o.class && c.hops < o.hops
}

// naive tries every edge by decisions of the engine.
type naive struct {
	t         *testing.T
	judge     statement.Judge
	known     map[string]bool
	documents string
	accounts  []string               // those that bindings name, and those that rules name
	granted   map[string][][]request // what the role of a target grants, in each place where it is bound
}

// grantedBy returns what roles grant, in each place where they are bound.
func grantedBy(documents []object) map[string][][]request {
	out := make(map[string][][]request)
	for _, b := range documents {
		ref, isBinding := b["roleRef"].(object)
		if !isBinding {
			continue
		}
		namespace, _ := b["metadata"].(object)["namespace"].(string)
		for _, r := range documents {
			rules, isRole := r["rules"].([]object)
			if !isRole || r["metadata"].(object)["name"] != ref["name"] {
				continue
			}
			var all []request
			for _, rule := range rules {
				names, _ := rule["resourceNames"].([]string)
				if names == nil {
					names = []string{""}
				}
				for _, verb := range rule["verbs"].([]string) {
					for _, group := range rule["apiGroups"].([]string) {
						for _, resource := range rule["resources"].([]string) {
							name, sub, _ := strings.Cut(resource, "/")
							for _, n := range names {
								all = append(all, request{verb, group, name, sub, namespace, n})
							}
						}
					}
				}
			}
			target := "ROLE:" + ref["name"].(string)
			out[target] = append(out[target], all)
		}
	}
	return out
}

// administrators are the targets of those who may do everything somewhere.
var administrators = map[string]string{reach.ClusterAdmin: "", "namespace-admin:n0": "n0", "namespace-admin:n1": "n1"}

// accountsOf returns the accounts that documents know: a rule may list others by their names.
func accountsOf(documents []object) []string {
	out := slices.Clone(accounts)
	for _, b := range documents {
		ref, isBinding := b["roleRef"].(object)
		for _, r := range documents {
			rules, isRole := r["rules"].([]object)
			if !isBinding || !isRole || r["metadata"].(object)["name"] != ref["name"] {
				continue
			}
			for _, rule := range rules {
				names, _ := rule["resourceNames"].([]string)
				if !strings.HasPrefix(rule["resources"].([]string)[0], "serviceaccounts") {
					continue
				}
				for _, name := range names {
					for _, n := range namespaces {
						if at := b["metadata"].(object)["namespace"]; (at == nil || at == n) && !slices.Contains(out, account(n, name)) {
							out = append(out, account(n, name))
						}
					}
				}
			}
		}
	}
	return out
}

// clusters are values of the only fact that these documents depend on.
var clusters = []string{"", "prod-1"}

type request struct{ verb, group, resource, sub, namespace, name string }

func (x *naive) isAllowed(w *who, r request, cluster string) bool {
	o := object{"user": w.user, "groups": w.groups, "verb": r.verb, "apiGroup": r.group, "resource": r.resource, "subresource": r.sub, "namespace": r.namespace, "name": r.name, "cluster": cluster}
	text := string(statement.Encode(o))
	allowed, ok := x.known[text]
	if !ok {
		v, err := x.judge(x.t.Context(), "access", []byte(text))
		if err != nil {
			x.t.Fatal(err)
		}
		allowed = v.Outcome == "allow"
		x.known[text] = allowed
	}
	if allowed && w.mode != "" && w.mode != "legacy" {
		r.verb = "impersonate-on:" + w.mode + ":" + r.verb
		return x.isAllowed(w.by, r, cluster)
	}
	return allowed
}

// may returns the best class in which requests are allowed, each one of some alternatives.
func (x *naive) may(w *who, asks ...[]request) (reach.Class, bool) {
	best, found := reach.Possible, false
	var choose func(i int, chosen []request)
	choose = func(i int, chosen []request) {
		if i < len(asks) {
			for _, r := range asks[i] {
				choose(i+1, append(chosen, r))
			}
			return
		}
		count := 0
		for _, cluster := range clusters {
			if !slices.ContainsFunc(chosen, func(r request) bool { return !x.isAllowed(w, r, cluster) }) {
				count++
			}
		}
		if count > 0 {
			found = true
		}
		if count == len(clusters) {
			best = reach.Certain
		}
	}
	choose(0, nil)
	return best, found
}

// asks returns the alternatives of verbs, resources and names.
func asks(group, namespace string, resources, verbs []string) (out []request) {
	for _, resource := range resources {
		name, sub, _ := strings.Cut(resource, "/")
		for _, verb := range verbs {
			names := []string{"u0", "g0", "sa", "own", "other"}
			if verb == "list" || verb == "watch" || verb == "create" && sub == "" {
				names = []string{""}
			}
			for _, n := range names {
				out = append(out, request{verb, group, name, sub, namespace, n})
			}
		}
	}
	return out
}

// step calls take with whom an identity becomes in one hop.
func (x *naive) step(w *who, take func(to *who, class reach.Class)) {
	all := func(list []string, least reach.Class, asked ...[]request) {
		if class, ok := x.may(w, asked...); ok {
			for _, p := range list {
				take(identity(p), max(class, least))
			}
		}
	}
	one := func(group, namespace string, resources []string, verbs ...string) []request {
		return asks(group, namespace, resources, verbs)
	}
	for _, n := range namespaces {
		there := slices.DeleteFunc(slices.Clone(x.accounts), func(a string) bool { return !strings.Contains(a, ":"+n+":") })
		workloads := slices.Concat(
			one("apps", n, []string{"deployments", "daemonsets", "replicasets", "statefulsets"}, "create"), one("batch", n, []string{"jobs", "cronjobs"}, "create"), one("", n, []string{"replicationcontrollers"}, "create"))
		edits := slices.Concat(
			one("apps", n, []string{"deployments", "daemonsets", "replicasets", "statefulsets"}, "update", "patch"), one("batch", n, []string{"jobs", "cronjobs"}, "update", "patch"), one("", n, []string{"replicationcontrollers"}, "update", "patch"))
		all(there, reach.Certain, one("", n, []string{"pods"}, "create"))
		all(there, reach.Certain, workloads)
		all(there, reach.Assumed, edits)
		all(there, reach.Assumed, one("", n, []string{"pods"}, "update", "patch"))
		all(there, reach.Assumed, one("", n, []string{"pods/exec"}, "create"))
		all(there, reach.Assumed, one("", n, []string{"pods/attach"}, "create"))
		all(there, reach.Assumed, one("", n, []string{"pods/ephemeralcontainers"}, "update", "patch"))
		all(there, reach.Possible, one("", n, []string{"pods/portforward"}, "create"))
		all(there, reach.Assumed, one("", n, []string{"secrets"}, "get", "list", "watch"))
		all(there, reach.Certain, one("", n, []string{"secrets"}, "create"), one("", n, []string{"secrets"}, "get", "list", "watch"))
	}
	for _, a := range x.accounts {
		parts := strings.Split(a, ":")
		all([]string{a}, reach.Certain, []request{{"create", "", "serviceaccounts", "token", parts[3], parts[4]}})
	}
	all(x.accounts, reach.Assumed, one("", "", []string{"nodes/proxy"}, "get", "create"))
	if class, ok := x.may(w, one("admissionregistration.k8s.io", "", []string{"mutatingwebhookconfigurations"}, "create", "update", "patch")); ok {
		take(&who{sink: true}, max(class, reach.Assumed))
	}
	signing := func(signer string) [][]request {
		return [][]request{one(certs, "", []string{"certificatesigningrequests"}, "create"), one(certs, "", []string{"certificatesigningrequests/approval"}, "update", "patch"),
			{{"approve", certs, "signers", "", "", signer}}}
	}
	if class, ok := x.may(w, signing("kubernetes.io/kube-apiserver-client")...); ok {
		for _, user := range users {
			for _, g := range subsets([]string{"g0", "system:serviceaccounts"}) {
				take(&who{user: user, groups: sorted(append(g, "system:authenticated")...)}, class)
			}
		}
		for _, a := range x.accounts {
			take(identity(a), class)
		}
	}
	if w.mode == "" {
		x.impersonations(w, take)
	}
}

func subsets(list []string) (out [][]string) {
	for set := range 1 << len(list) {
		some := []string{}
		for i, v := range list {
			if set&(1<<i) != 0 {
				some = append(some, v)
			}
		}
		out = append(out, some)
	}
	return out
}

func (x *naive) impersonations(w *who, take func(*who, reach.Class)) {
	for _, mode := range []string{"legacy", "user-info", "serviceaccount"} {
		verb, group := "impersonate", ""
		if mode != "legacy" {
			verb, group = "impersonate:"+mode, "authentication.k8s.io"
		}
		try := func(first request, to *who, with []string) {
			asked := [][]request{{first}}
			for _, g := range with {
				if g == "system:masters" && mode != "legacy" {
					return
				}
				asked = append(asked, []request{{verb, group, "groups", "", "", g}})
			}
			if class, ok := x.may(w, asked...); ok {
				to.mode, to.by = mode, w
				take(to, class)
			}
		}
		for _, with := range subsets(groups) {
			if mode != "serviceaccount" {
				for _, user := range users {
					try(request{verb, group, "users", "", "", user}, &who{user: user, groups: sorted(append(slices.Clone(with), "system:authenticated")...)}, with)
				}
			}
			if mode == "user-info" || mode == "serviceaccount" && len(with) > 0 {
				continue
			}
			for _, a := range x.accounts {
				parts, to := strings.Split(a, ":"), identity(a)
				if len(with) > 0 {
					to.groups = sorted(append(slices.Clone(with), "system:authenticated")...)
				}
				try(request{verb, group, "serviceaccounts", "", parts[3], parts[4]}, to, with)
			}
		}
	}
}

// search returns how each subject is reached, and the administrator of the cluster.
func (x *naive) search(from string) map[string]cost {
	best := make(map[string]cost)
	type state struct {
		*who
		cost
	}
	// The best class of a node is not on the way to the fewest hops of a worse one, so
	// that each class is searched for itself.
	for class := reach.Certain; class <= reach.Possible; class++ {
		seen := map[string]bool{identity(from).key(): true}
		queue := []state{{identity(from), cost{class, 0}}}
		for len(queue) > 0 {
			s := queue[0]
			queue = queue[1:]
			reached := func(to string) {
				c := s.cost
				if s.hops == 0 {
					c.class = reach.Certain
				}
				if old, ok := best[to]; !ok || c.isBetter(old) {
					best[to] = c
				}
			}
			if s.sink {
				for to := range administrators {
					reached(to)
				}
				for to := range x.granted {
					reached(to)
				}
				continue
			}
			for _, p := range subjects {
				if kind, name, _ := strings.Cut(p, ":"); kind == "user" && name == s.user || kind == "group" && slices.Contains(s.groups, name) {
					reached(p)
				}
			}
			for to, namespace := range administrators {
				if slices.Contains(s.groups, "system:masters") || x.isAllowed(s.who, request{verb: "*", group: "*", resource: "*", namespace: namespace}, "") {
					reached(to)
				}
			}
			for to, places := range x.granted {
				if slices.ContainsFunc(places, func(all []request) bool {
					return !slices.ContainsFunc(all, func(r request) bool { return !x.isAllowed(s.who, r, "") })
				}) {
					reached(to)
				}
			}
			x.step(s.who, func(to *who, c reach.Class) {
				if key := to.key() + "|" + map[bool]string{true: "sink"}[to.sink]; c <= class && !seen[key] {
					seen[key] = true
					queue = append(queue, state{to, cost{class, s.hops + 1}})
				}
			})
		}
	}
	return best
}
