package deny

import (
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

var (
	clusters   = []string{"prod-eu.1", "prod-us", "dev", "edge", "", "prod-a/b"}
	tenants    = []string{"bank", "shop-1", ""}
	sessions   = []string{"s-1", "s-9", "emergency", ""}
	podNames   = []string{"web-0", "db", "", "{{.score}}", "b.c"}
	podAdds    = []string{"NET_ADMIN", "CAP_SYS_ADMIN", "net_raw", "Sys_Ptrace", "ALL", "cap_all", "CHOWN"}
	containers = []string{"containers", "containers", "initContainers", "ephemeralContainers"}
)

type requester struct {
	random.Source
	denials *Denials
}

// Approach turns the request towards deny policies: mostly towards a pod that
// is reached into, sometimes towards a rule.
func (d *Denials) Approach(draw random.Source, r *oracle.Request) {
	g := requester{draw, d}
	r.Cluster, r.Tenant, r.Session = g.One(clusters), g.One(tenants), g.One(sessions)
	r.Escalation = g.One(append([]string{"", "unknown"}, escalationNames...))
	if !g.Once(3) {
		r.NamespaceLabels = map[string]string{}
		for _, key := range g.Some(0, 2, []string{"env", "tier"}) {
			r.NamespaceLabels[key] = g.One([]string{"prod", "dev", "gold", ""})
		}
	}
	if g.Once(2) {
		r.Groups = append(r.Groups, "ops")
	}
	switch g.IntN(8) {
	case 0:
	case 6:
		g.impersonation(r)
	case 1, 2:
		g.nearDenyRule(r)
	default:
		g.intoPod(r)
	}
	if r.Path == "" && g.Once(4) {
		Respell(g.Source, r)
	}
}

var identities = []string{"*", "web-0", "db", "alice", "", "a1", "b.c", "system:masters"}

// impersonation asks about an identity, or about the request while impersonating.
func (g requester) impersonation(r *oracle.Request) {
	mode := g.One(append([]string{"new-mode", "User-Info", "", "legacy"}, Modes...))
	if g.Once(2) {
		verb := g.One(append([]string{r.Verb, ""}, actionVerbs...))
		r.Verb = "impersonate-on:" + mode + ":" + verb
		if g.Once(20) {
			r.Verb = "impersonate-on:" + mode
		}
		return
	}
	r.Path, r.Subresource = "", ""
	r.APIGroup, r.Resource, r.Name = g.One([]string{"authentication.k8s.io", "", "apps"}), g.One(IdentityResources), g.One(identities)
	if r.Resource == "userextras" {
		r.Subresource = g.One([]string{"*", "scopes", "example.com/team", "SCOPES"})
	}
	r.Verb = "impersonate:" + mode
	if g.Once(3) {
		r.Verb = "impersonate"
	}
}

// Respell writes a request in another spelling of its own: one that roles of Origin
// accept as well.
func Respell(draw random.Source, r *oracle.Request) {
	if r.Verb = draw.One([]string{r.Verb, r.Verb, strings.ToUpper(r.Verb)}); draw.Once(3) && r.Subresource == "exec" {
		r.Verb, r.Subresource = draw.One([]string{"exec", "Exec", "EXEC"}), ""
	}
	if draw.Once(4) && r.Subresource == "proxy" {
		r.Verb, r.Subresource = draw.One([]string{"proxy", "Proxy"}), ""
	}
	if draw.Once(3) {
		r.Subresource = strings.ToUpper(r.Subresource)
	}
	words := append(kinds(r.Resource), r.Resource)
	r.Resource = draw.One(words)
	switch draw.IntN(4) {
	case 0:
		r.Resource = strings.ToUpper(r.Resource)
	case 1:
		r.Resource = strings.ToUpper(r.Resource[:1]) + r.Resource[1:]
	}
	if draw.Once(4) {
		r.Verb, r.Resource = fold(r.Verb), fold(r.Resource)
	}
}

// fold writes a word with letters outside of ASCII whose lower case is within: the sign of
// the kelvin, and a capital I with a dot.
func fold(word string) string {
	lower := strings.ToLower(word)
	folded := strings.NewReplacer("k", "\u212a", "i", "\u0130").Replace(word)
	if strings.ToLower(folded) != lower { // which is not what strings.EqualFold compares
		return word
	}
	return folded
}

func (g requester) nearDenyRule(r *oracle.Request) {
	p := g.denials.DenyPolicies[g.IntN(len(g.denials.DenyPolicies))]
	if len(p.Rules) == 0 {
		return
	}
	rule := p.Rules[g.IntN(len(p.Rules))]
	r.Path = ""
	if verb := g.One(rule.Verbs); verb != "*" {
		r.Verb = verb
	}
	if r.Verb == "impersonate" && g.Once(2) {
		r.Verb = "impersonate:user-info"
	}
	if group := g.One(rule.APIGroups); group != "*" {
		r.APIGroup = group
	}
	resource, sub, _ := strings.Cut(g.One(rule.Resources), "/")
	if resource != "*" {
		r.Resource = resource
	}
	if sub != "*" {
		r.Subresource = sub
	}
	if len(rule.Subresources) > 0 && sub == "" && g.Once(2) {
		r.Subresource = g.One(rule.Subresources)
	}
	if g.Once(2) {
		r.Name = g.One(podNames)
	}
}

// intoPod asks for a subresource of a pod, with the pod in some shape.
func (g requester) intoPod(r *oracle.Request) {
	r.Path, r.APIGroup, r.Resource, r.Name = "", "", "pods", g.One(podNames)
	r.Verb, r.Subresource = g.One([]string{"create", "get"}), g.One([]string{"exec", "exec", "attach", "portforward", "log", "proxy"})
	if r.Namespace == "" && !g.Once(10) {
		r.Namespace = g.One(random.Namespaces)
	}
	r.PodError = ""
	if g.Once(15) {
		r.PodError = g.One([]string{"timeout", `no "pod" {{.score}}`})
	}
	if all := g.denials.Escalations; len(all) > 0 && g.Once(3) {
		e := all[g.IntN(len(all))]
		r.Escalation = e.Name
		if len(e.Groups) > 0 {
			r.Groups = append(r.Groups, g.One(e.Groups))
		}
	}
	r.Pod = nil
	if !g.Once(15) {
		r.Pod = g.podFor(*r)
	}
}

func (g requester) podFor(r oracle.Request) map[string]any {
	pod := map[string]any{}
	if !g.Once(10) {
		metadata := map[string]any{"name": r.Name, "namespace": r.Namespace}
		if g.Once(20) {
			metadata["name"] = g.One([]string{"other", "web-0"})
		}
		if g.Once(20) {
			metadata["namespace"] = g.One(random.Namespaces)
		}
		if g.Once(8) {
			delete(metadata, g.One([]string{"name", "namespace"}))
		}
		if g.Once(2) {
			labels := map[string]any{}
			for _, key := range g.Distinct(0, 2, []string{"exempt", "team"}) {
				labels[key] = g.shape(g.One([]string{"true", "cni"}))
			}
			metadata["labels"] = g.shape(labels)
		}
		for _, key := range []string{"name", "namespace"} {
			if value, there := metadata[key]; there {
				metadata[key] = g.shape(value)
			}
		}
		pod["metadata"] = g.shape(metadata)
	}
	if !g.Once(20) {
		pod["spec"] = g.shape(g.podSpec())
	}
	return pod
}

func (g requester) podSpec() map[string]any {
	spec := map[string]any{}
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if g.Once(5) {
			spec[key] = g.shape(!g.Once(4))
		}
	}
	if g.Once(4) {
		spec["securityContext"] = g.shape(map[string]any{"runAsUser": g.shape(g.Number(0, 0, 1000)), "runAsNonRoot": "unread"})
	}
	all := map[string][]any{}
	if !g.Once(20) {
		all["containers"] = append(all["containers"], g.container())
	}
	for range g.IntN(3) {
		where := g.One(containers)
		all[where] = append(all[where], g.container())
	}
	for _, key := range containers[1:] {
		if list, there := all[key]; there || g.Once(20) {
			spec[key] = g.shape(append([]any{}, list...))
		}
	}
	if g.Once(2) {
		volumes := []any{}
		for _, name := range g.Distinct(1, 3, []string{"a", "b", "c"}) {
			volume := map[string]any{"name": g.shape(name)}
			if !g.Once(4) {
				volume["hostPath"] = g.shape(map[string]any{"path": "/"})
			}
			if g.Once(60) {
				delete(volume, "name")
			}
			volumes = append(volumes, g.shape(volume))
		}
		spec["volumes"] = g.shape(volumes)
	}
	return spec
}

func (g requester) container() any {
	container := map[string]any{"name": "c", "image": "registry.example/app:1"}
	if g.Once(3) {
		mounts := []any{}
		for _, name := range g.Distinct(1, 2, []string{"a", "b", "c"}) {
			mount := map[string]any{"name": g.shape(name), "mountPath": "/m"}
			if !g.Once(3) {
				mount["readOnly"] = g.shape(!g.Once(3))
			}
			if g.Once(60) {
				delete(mount, "name")
			}
			mounts = append(mounts, g.shape(mount))
		}
		container["volumeMounts"] = g.shape(mounts)
	}
	if g.Once(2) {
		return g.shape(container)
	}
	security := map[string]any{}
	if g.Once(3) {
		security["privileged"] = g.shape(!g.Once(4))
	}
	if g.Once(3) {
		security["runAsUser"] = g.shape(g.Number(0, 1000))
	}
	if g.Once(2) {
		adds := []any{}
		for _, name := range g.Some(0, 3, podAdds) {
			adds = append(adds, g.shape(name))
		}
		security["capabilities"] = g.shape(map[string]any{"add": g.shape(adds), "drop": g.shape([]any{"ALL"})})
	}
	container["securityContext"] = g.shape(security)
	return g.shape(container)
}

// shape is a value, or now and then something of another type in its place.
func (g requester) shape(value any) any {
	if !g.Once(120) {
		return value
	}
	switch g.IntN(8) {
	case 0:
		return "true"
	case 1:
		return g.Number(0, 1)
	case 2:
		return 0.5
	case 3:
		return []any{}
	case 4:
		return map[string]any{}
	case 5:
		return true
	case 6:
		return []any{value}
	}
	return nil
}
