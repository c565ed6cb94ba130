package oracle

import "strings"

var (
	clusters   = []string{"prod-eu.1", "prod-us", "dev", "edge", "", "prod-a/b"}
	tenants    = []string{"bank", "shop-1", ""}
	sessions   = []string{"s-1", "s-9", "emergency", ""}
	podNames   = []string{"web-0", "db", "", "{{.score}}", "b.c"}
	podAdds    = []string{"NET_ADMIN", "CAP_SYS_ADMIN", "net_raw", "Sys_Ptrace", "ALL", "cap_all", "CHOWN"}
	containers = []string{"containers", "containers", "initContainers", "ephemeralContainers"}
)

// nearDeny turns the request towards deny policies: mostly towards a pod that
// is reached into, sometimes towards a rule.
func (g requester) nearDeny(r *Request) {
	r.Cluster, r.Tenant, r.Session = g.one(clusters), g.one(tenants), g.one(sessions)
	r.Escalation = g.one(append([]string{"", "unknown"}, escalationNames...))
	if !g.once(3) {
		r.NamespaceLabels = map[string]string{}
		for _, key := range g.some(0, 2, []string{"env", "tier"}) {
			r.NamespaceLabels[key] = g.one([]string{"prod", "dev", "gold", ""})
		}
	}
	if g.once(2) {
		r.Groups = append(r.Groups, "ops")
	}
	switch g.IntN(6) {
	case 0:
	case 1, 2:
		g.nearDenyRule(r)
	default:
		g.intoPod(r)
	}
}

func (g requester) nearDenyRule(r *Request) {
	p := g.world.DenyPolicies[g.IntN(len(g.world.DenyPolicies))]
	if len(p.Rules) == 0 {
		return
	}
	rule := p.Rules[g.IntN(len(p.Rules))]
	r.Path = ""
	if verb := g.one(rule.Verbs); verb != "*" {
		r.Verb = verb
	}
	if r.Verb == "impersonate" && g.once(2) {
		r.Verb = "impersonate:user-info"
	}
	if group := g.one(rule.APIGroups); group != "*" {
		r.APIGroup = group
	}
	resource, sub, _ := strings.Cut(g.one(rule.Resources), "/")
	if resource != "*" {
		r.Resource = resource
	}
	if sub != "*" {
		r.Subresource = sub
	}
	if len(rule.Subresources) > 0 && sub == "" && g.once(2) {
		r.Subresource = g.one(rule.Subresources)
	}
	if g.once(2) {
		r.Name = g.one(podNames)
	}
}

// intoPod asks for a subresource of a pod, with the pod in some shape.
func (g requester) intoPod(r *Request) {
	r.Path, r.APIGroup, r.Resource, r.Name = "", "", "pods", g.one(podNames)
	r.Verb, r.Subresource = g.one([]string{"create", "get"}), g.one([]string{"exec", "exec", "attach", "portforward", "log", "proxy"})
	if r.Namespace == "" && !g.once(10) {
		r.Namespace = g.one(namespaces)
	}
	r.PodError = ""
	if g.once(15) {
		r.PodError = g.one([]string{"timeout", `no "pod" {{.score}}`})
	}
	if all := g.world.Escalations; len(all) > 0 && g.once(3) {
		e := all[g.IntN(len(all))]
		r.Escalation = e.Name
		if len(e.Groups) > 0 {
			r.Groups = append(r.Groups, g.one(e.Groups))
		}
	}
	r.Pod = nil
	if !g.once(15) {
		r.Pod = g.podFor(*r)
	}
}

func (g requester) podFor(r Request) map[string]any {
	pod := map[string]any{}
	if !g.once(10) {
		metadata := map[string]any{"name": r.Name, "namespace": r.Namespace}
		if g.once(20) {
			metadata["name"] = g.one([]string{"other", "web-0"})
		}
		if g.once(20) {
			metadata["namespace"] = g.one(namespaces)
		}
		if g.once(8) {
			delete(metadata, g.one([]string{"name", "namespace"}))
		}
		if g.once(2) {
			labels := map[string]any{}
			for _, key := range g.distinct(0, 2, []string{"exempt", "team"}) {
				labels[key] = g.shape(g.one([]string{"true", "cni"}))
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
	if !g.once(20) {
		pod["spec"] = g.shape(g.podSpec())
	}
	return pod
}

func (g requester) podSpec() map[string]any {
	spec := map[string]any{}
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if g.once(5) {
			spec[key] = g.shape(!g.once(4))
		}
	}
	if g.once(4) {
		spec["securityContext"] = g.shape(map[string]any{"runAsUser": g.shape(g.number(0, 0, 1000)), "runAsNonRoot": "unread"})
	}
	all := map[string][]any{}
	if !g.once(20) {
		all["containers"] = append(all["containers"], g.container())
	}
	for range g.IntN(3) {
		where := g.one(containers)
		all[where] = append(all[where], g.container())
	}
	for _, key := range containers[1:] {
		if list, there := all[key]; there || g.once(20) {
			spec[key] = g.shape(append([]any{}, list...))
		}
	}
	if g.once(2) {
		volumes := []any{}
		for _, name := range g.distinct(1, 3, []string{"a", "b", "c"}) {
			volume := map[string]any{"name": g.shape(name)}
			if !g.once(4) {
				volume["hostPath"] = g.shape(map[string]any{"path": "/"})
			}
			if g.once(60) {
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
	if g.once(3) {
		mounts := []any{}
		for _, name := range g.distinct(1, 2, []string{"a", "b", "c"}) {
			mount := map[string]any{"name": g.shape(name), "mountPath": "/m"}
			if !g.once(3) {
				mount["readOnly"] = g.shape(!g.once(3))
			}
			if g.once(60) {
				delete(mount, "name")
			}
			mounts = append(mounts, g.shape(mount))
		}
		container["volumeMounts"] = g.shape(mounts)
	}
	if g.once(2) {
		return g.shape(container)
	}
	security := map[string]any{}
	if g.once(3) {
		security["privileged"] = g.shape(!g.once(4))
	}
	if g.once(3) {
		security["runAsUser"] = g.shape(g.number(0, 1000))
	}
	if g.once(2) {
		adds := []any{}
		for _, name := range g.some(0, 3, podAdds) {
			adds = append(adds, g.shape(name))
		}
		security["capabilities"] = g.shape(map[string]any{"add": g.shape(adds), "drop": g.shape([]any{"ALL"})})
	}
	container["securityContext"] = g.shape(security)
	return g.shape(container)
}

// shape is a value, or now and then something of another type in its place.
func (g requester) shape(value any) any {
	if !g.once(120) {
		return value
	}
	switch g.IntN(8) {
	case 0:
		return "true"
	case 1:
		return g.number(0, 1)
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
