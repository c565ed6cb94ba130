package oracle

import (
	"slices"
)

// Vocabularies of deny policies; namespaces and resources are those of roles.
var (
	policyNames     = []string{"a", "a-1", "a.1", "a0", "aa", "b", "p10", "p9", "z-last"}
	escalationNames = []string{"sre-fix", "sre-db", "dev-debug", "night"}
	policyReasons   = []string{
		"score {{.score}}: {{.factors}}", "{{ .Score }}|{{.Pod}}|{{ .namespace}}", "no", "{{.pod}}{{.pod}} in {{.Namespace }}",
		"a }} b { c", "[{{  .Factors  }}]", `100% "quoted" \ {{.score}}`, "{{.factors}}",
	}

	clusterGlobs   = []string{"prod-*", "*", "dev", "prod-??", "[de]*", "prod-eu.1", `prod-eu\.1`, "[^p]*", "", "nope", "p*"}
	tenantGlobs    = []string{"bank", "shop-?", "*", "[a-c]*", ""}
	sessionGlobs   = []string{"s-*", "emergency", "s-[1-3]", "*", ""}
	namespaceGlobs = []string{"team-*", "hammer", "*", "a*", "[hm]*", "*-a", "anvil", "nothing-*", "?????", "elsewhere"}
	nameGlobs      = []string{"web-*", "*", "db", "", "a?", "[ab]*", "b.c"}

	denyVerbs        = []string{"get", "create", "delete", "list", "*", "impersonate", "patch", "impersonate:user-info", "frobnicate"}
	denyGroups       = []string{"", "", "apps", "*", "authentication.k8s.io", "example.com"}
	denyResources    = []string{"pods", "secrets", "deployments", "nodes", "users", "*", "pods/exec", "*/scale", "pods/*", "*/*", "widgets", "*/exec"}
	denySubresources = []string{"exec", "log", "status", "", "*", "scale", "attach"}
	podSubresources  = []string{"exec", "attach", "portforward", "log", "proxy"}

	weighed      = []string{"hostNetwork", "hostPID", "hostIPC", "privilegedContainer", "runAsRoot", "hostPathWritable", "hostPathReadOnly"}
	capabilities = []string{"NET_ADMIN", "SYS_ADMIN", "cap_net_raw", "CAP_SYS_PTRACE", "ALL", "net_bind_service"}
)

// GenerateDeny is Generate with deny policies and escalations as well, and
// mostly with a group that may do everything else.
func GenerateDeny(seed uint64) (map[string]string, *World) {
	g := &generator{random: newRandom(seed, 3), world: &World{Master: "master", Extensions: extensions, seed: seed}, taken: map[string]bool{}}
	g.origin()
	g.kubernetes()
	if !g.once(5) {
		g.everything()
	}
	g.escalations()
	g.denyPolicies()
	for _, e := range g.world.Escalations {
		for _, p := range g.world.DenyPolicies {
			if g.once(3) {
				e.DenyPolicyRefs = append(e.DenyPolicyRefs, p.Name)
			}
		}
	}
	return g.write(), g.world
}

func (g *generator) everything() {
	w := g.world
	w.KubernetesRoles = append(w.KubernetesRoles, &KubernetesRole{Name: "everything", Rules: []*KubernetesRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	}})
	w.KubernetesBindings = append(w.KubernetesBindings, &KubernetesBinding{
		Name: "everything", RoleKind: "ClusterRole", RoleName: "everything", Subjects: []Subject{{Kind: "Group", Name: "ops"}},
	})
}

func (g *generator) escalations() {
	for _, name := range escalationNames {
		if g.once(3) {
			continue
		}
		e := &Escalation{Namespace: g.one([]string{"breakglass", "team-a"}), Name: name}
		e.Groups = g.distinct(0, 2, []string{"dev", "ops", "system:authenticated"})
		switch {
		case !g.once(3):
			e.Clusters = g.distinct(1, 2, []string{"*", "prod-*", "dev", "[de]*"})
		case g.once(2):
			e.ClusterConfigRefs = g.distinct(1, 2, []string{"*", "prod-eu.1", "edge"})
		case len(e.Groups) == 0:
			e.Groups = []string{"dev"}
		}
		if !g.once(4) {
			o := &Overrides{Enabled: !g.once(5), RequireApproval: g.once(8)}
			if !g.once(3) {
				score := g.number(0, 30, 60, 100, 200, 1000)
				o.MaxAllowedScore = &score
			}
			if g.once(2) {
				o.ExemptFactors = g.factors(1, 3)
			}
			if g.once(3) {
				o.NamespaceScope = g.filter(true)
			}
			e.Overrides = o
		}
		g.world.Escalations = append(g.world.Escalations, e)
	}
}

func (g *generator) denyPolicies() {
	for _, name := range g.distinct(1, 4, policyNames) {
		p := &DenyPolicy{Name: name}
		if !g.once(3) {
			precedence := g.number(0, 10, 50, 100, 101)
			p.Precedence = &precedence
		}
		p.Clusters = g.sometimes(4, clusterGlobs)
		p.Tenants = g.sometimes(10, tenantGlobs)
		p.Sessions = g.sometimes(10, sessionGlobs)
		if g.once(6) {
			p.EscalationRefs = g.escalationRefs()
		}
		for range g.IntN(3) {
			p.Rules = append(p.Rules, g.denyRule())
		}
		if len(p.Rules) == 0 || g.once(2) {
			p.PodSecurity = g.podRules()
		}
		g.world.DenyPolicies = append(g.world.DenyPolicies, p)
	}
}

// escalationRefs names escalations there are, or is wild.
func (g *generator) escalationRefs() []string {
	refs := []string{g.one([]string{"sre-*", "*", "dev-?????", "night*"})}
	if len(g.world.Escalations) > 0 {
		refs = append(refs, g.world.Escalations[g.IntN(len(g.world.Escalations))].Name)
	}
	return refs[g.IntN(len(refs)):]
}

func (g *generator) denyRule() *DenyRule {
	rule := &DenyRule{
		Verbs: g.some(1, 2, denyVerbs), APIGroups: g.some(1, 2, denyGroups), Resources: g.some(1, 2, denyResources),
		Subresources: g.sometimes(3, denySubresources), ResourceNames: g.sometimes(4, nameGlobs),
	}
	if g.once(2) {
		rule.Namespaces = g.filter(false)
	}
	return rule
}

// filter draws patterns, terms or both. In an escalation no entry is repeated.
func (g *generator) filter(distinct bool) Filter {
	var f Filter
	which := g.IntN(4)
	if which < 3 {
		f.Patterns = g.distinct(1, 2, namespaceGlobs)
		if !distinct && g.once(4) {
			f.Patterns = append(f.Patterns, f.Patterns[0])
		}
	}
	if which > 1 {
		for range 1 + g.IntN(2) {
			var term Selector
			for range 1 + g.IntN(2) {
				q := Requirement{Key: g.one([]string{"env", "tier"}), Operator: g.one([]string{"In", "In", "NotIn", "Exists", "DoesNotExist"})}
				if q.Operator == "In" || q.Operator == "NotIn" {
					q.Values = g.distinct(1, 2, []string{"prod", "dev", "gold"})
				}
				term = append(term, q)
			}
			f.Terms = append(f.Terms, term)
		}
	}
	return f
}

func (g *generator) podRules() *PodRules {
	s := &PodRules{
		Weights: map[string]int{}, Capabilities: map[string]int{}, ExemptLabels: map[string]string{},
		FailMode: g.one([]string{"", "closed", "open", "open"}),
	}
	if g.once(4) {
		s.Subresources = g.distinct(1, 3, podSubresources)
	}
	for _, factor := range weighed {
		if !g.once(3) {
			s.Weights[factor] = g.number(0, 1, 10, 30, 40, 80, 150)
		}
	}
	for _, name := range g.distinct(0, 3, capabilities) {
		s.Capabilities[name] = g.number(0, 10, 30, 80)
	}
	score := g.number(0, 0, 10, 30)
	for range g.IntN(4) {
		t := Threshold{MaxScore: score, Action: g.one([]string{"allow", "warn", "deny"})}
		if g.once(2) {
			t.Reason = g.one(policyReasons)
		}
		s.Thresholds = append(s.Thresholds, t)
		score += g.number(1, 20, 50, 100)
	}
	if g.once(3) {
		s.BlockFactors = g.factors(1, 3)
	}
	if g.once(5) {
		s.ExemptNamespaces = g.filter(false)
	}
	if g.once(5) {
		for _, key := range g.distinct(1, 2, []string{"exempt", "team"}) {
			s.ExemptLabels[key] = g.one([]string{"true", "cni"})
		}
	}
	return s
}

// factors draws factors as blockFactors may name them, none twice.
func (g *generator) factors(low, high int) []string {
	all := slices.Clone(weighed)
	for _, name := range capabilities {
		all = append(all, "capability:"+name)
	}
	return g.distinct(low, high, all)
}

// distinct draws between low and high entries, none twice.
func (r random) distinct(low, high int, from []string) []string {
	all := slices.Clone(from)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), low+r.IntN(high-low+1))]
}

// sometimes draws a list once in n times, and none otherwise.
func (r random) sometimes(n int, from []string) []string {
	if !r.once(n) {
		return nil
	}
	return r.some(1, 2, from)
}

func (r random) number(from ...int) int { return from[r.IntN(len(from))] }
