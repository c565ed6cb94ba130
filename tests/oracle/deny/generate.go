package deny

import (
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// Vocabularies of deny policies; namespaces and resources are those of roles.
var (
	policyNames     = []string{"a", "a-1", "a.1", "a0", "aa", "b", "p10", "p9", "z-last"}
	escalationNames = []string{"sre-fix", "sre-db", "dev-debug", "night"}
	policyReasons   = []string{
		"score {{.score}}: {{.factors}}", "{{ .Score }}|{{.Pod}}|{{ .namespace}}", "no", "{{.pod}}{{.pod}} in {{.Namespace }}",
		"a }} b { c", "[{{  .Factors  }}]", `100% "quoted" \ {{.score}}`, "{{.factors}}",
	}

	clusterGlobs   = []string{"prod-*", "*", "dev", "prod-??", "[de]*", "prod-eu.1", `prod-eu\.1`, "[^p]*", "", "nope", "p*", "**", "p**1", "?ev"}
	tenantGlobs    = []string{"bank", "shop-?", "*", "[a-c]*", "", "**", "b**k", `\bank`, `\*`}
	sessionGlobs   = []string{"s-*", "emergency", "s-[1-3]", "*", "", "**", "s**1", "e?*", `s\-1`}
	namespaceGlobs = []string{"team-*", "hammer", "*", "a*", "[hm]*", "*-a", "anvil", "nothing-*", "?????", "elsewhere", "**", "h**r", `\anvil`, "?*"}
	nameGlobs      = []string{"web-*", "*", "db", "", "a?", "[ab]*", "b.c", "**", "w**b", `d\b`, `\*`, "?"}

	denyVerbs        = []string{"get", "create", "delete", "list", "*", "impersonate", "patch", "impersonate:user-info", "frobnicate", "exec", "GET"}
	denyGroups       = []string{"", "", "apps", "*", "authentication.k8s.io", "example.com"}
	denyResources    = []string{"pods", "secrets", "deployments", "nodes", "users", "*", "pods/exec", "*/scale", "pods/*", "*/*", "widgets", "*/exec", "secret", "Secret", "PODS"}
	denySubresources = []string{"exec", "log", "status", "", "*", "scale", "attach", "EXEC"}
	actionVerbs      = []string{"get", "create", "delete", "*", "GET", "frobnicate"}
	extraKeys        = []string{"example.com/*", "*", "scopes", "s*", "**", "s**s", "", `\*`, "scope?"}
	podSubresources  = []string{"exec", "attach", "portforward", "log", "proxy"}

	weighed      = []string{"hostNetwork", "hostPID", "hostIPC", "privilegedContainer", "runAsRoot", "hostPathWritable", "hostPathReadOnly"}
	capabilities = []string{"NET_ADMIN", "SYS_ADMIN", "cap_net_raw", "CAP_SYS_PTRACE", "ALL", "net_bind_service"}
)

// IdentityResources are what impersonation asks about.
var IdentityResources = []string{"users", "groups", "uids", "userextras", "serviceaccounts", "nodes"}

// Generate draws escalations and policies, and lets some escalations name policies.
func (d *Denials) Generate(r random.Source) {
	g := &generator{r, d}
	g.escalations()
	g.denyPolicies()
	for _, e := range d.Escalations {
		for _, p := range d.DenyPolicies {
			if g.Once(3) {
				e.DenyPolicyRefs = append(e.DenyPolicyRefs, p.Name)
			}
		}
	}
}

// GenerateTenants sometimes draws the tenants of clusters, and lets policies ask for tenants.
func (d *Denials) GenerateTenants(r random.Source) {
	if !r.Once(3) {
		return
	}
	d.Tenants = make(map[string]string)
	for _, cluster := range r.Distinct(1, 2, []string{"prod-eu.1", "dev", "edge", "elsewhere"}) {
		d.Tenants[cluster] = r.One([]string{"bank", "shop-1", "*", ""})
	}
	for _, p := range d.DenyPolicies {
		if r.Once(2) {
			p.Tenants = r.Some(1, 2, tenantGlobs)
		}
	}
}

// GeneratePolicies draws policies alone.
func (d *Denials) GeneratePolicies(r random.Source) { (&generator{r, d}).denyPolicies() }

type generator struct {
	random.Source
	denials *Denials
}

func (g *generator) escalations() {
	for _, name := range escalationNames {
		if g.Once(3) {
			continue
		}
		e := &Escalation{Namespace: g.One([]string{"breakglass", "team-a"}), Name: name}
		e.Groups = g.Distinct(0, 2, []string{"dev", "ops", "system:authenticated"})
		switch {
		case !g.Once(3):
			e.Clusters = g.Distinct(1, 2, []string{"*", "prod-*", "dev", "[de]*"})
		case g.Once(2):
			e.ClusterConfigRefs = g.Distinct(1, 2, []string{"*", "prod-eu.1", "edge"})
		case len(e.Groups) == 0:
			e.Groups = []string{"dev"}
		}
		if !g.Once(4) {
			o := &Overrides{Enabled: !g.Once(5), RequireApproval: g.Once(8)}
			if !g.Once(3) {
				score := g.Number(0, 30, 60, 100, 200, 1000)
				o.MaxAllowedScore = &score
			}
			if g.Once(2) {
				o.ExemptFactors = g.factors(1, 3)
			}
			if g.Once(3) {
				o.NamespaceScope = g.filter(true)
			}
			e.Overrides = o
		}
		g.denials.Escalations = append(g.denials.Escalations, e)
	}
}

func (g *generator) denyPolicies() {
	for _, name := range g.Distinct(1, 4, policyNames) {
		p := &Policy{Name: name}
		if !g.Once(3) {
			precedence := g.Number(0, 10, 50, 100, 101)
			p.Precedence = &precedence
		}
		p.Clusters = g.Sometimes(4, clusterGlobs)
		p.Tenants = g.Sometimes(10, tenantGlobs)
		p.Sessions = g.Sometimes(10, sessionGlobs)
		if g.Once(6) {
			p.EscalationRefs = g.escalationRefs()
		}
		for range g.IntN(3) {
			p.Rules = append(p.Rules, g.denyRule())
		}
		if g.Once(2) {
			for range g.IntN(3) {
				p.Impersonation = append(p.Impersonation, g.impersonationRule())
			}
		}
		if len(p.Rules) == 0 || g.Once(2) {
			p.PodSecurity = g.podRules()
		}
		g.denials.DenyPolicies = append(g.denials.DenyPolicies, p)
	}
}

// escalationRefs names escalations there are, or is wild.
func (g *generator) escalationRefs() []string {
	refs := []string{g.One([]string{"sre-*", "*", "dev-?????", "night*"})}
	if len(g.denials.Escalations) > 0 {
		refs = append(refs, g.denials.Escalations[g.IntN(len(g.denials.Escalations))].Name)
	}
	return refs[g.IntN(len(refs)):]
}

func (g *generator) denyRule() *Rule {
	rule := &Rule{
		Verbs: g.Some(1, 2, denyVerbs), APIGroups: g.Some(1, 2, denyGroups), Resources: g.Some(1, 2, denyResources),
		Subresources: g.Sometimes(3, denySubresources), ResourceNames: g.Sometimes(4, nameGlobs),
	}
	if g.Once(2) {
		rule.Namespaces = g.filter(false)
	}
	return rule
}

// impersonationRule draws an entry about identities, about actions, or about neither.
func (g *generator) impersonationRule() *ImpersonationRule {
	rule := &ImpersonationRule{Modes: g.Sometimes(3, Modes), Reason: g.One([]string{"", "", "not {{.score}}", "ask first"})}
	switch g.IntN(5) {
	case 0:
		return rule
	case 1, 2:
		rule.ActionVerbs = g.Some(1, 2, actionVerbs)
		rule.TargetResources = g.Sometimes(2, append([]string{""}, denyResources...))
		rule.TargetAPIGroups = g.Sometimes(3, denyGroups)
		if len(rule.Modes) > 0 {
			rule.Modes = append(rule.Modes, "user-info") // an action check of legacy does not exist
		}
		if g.Once(6) { // not looked at beside actions
			rule.IdentityResources, rule.ExtraKeys = g.Sometimes(2, IdentityResources), g.Sometimes(2, extraKeys)
		}
		return rule
	}
	rule.IdentityResources = g.Sometimes(2, IdentityResources)
	rule.Identities = g.Sometimes(2, nameGlobs)
	rule.ExtraKeys = g.Sometimes(6, extraKeys)
	if g.Once(3) {
		rule.Namespaces = g.filter(false)
	}
	return rule
}

// filter draws patterns, terms or both. In an escalation no entry is repeated.
func (g *generator) filter(distinct bool) Filter {
	var f Filter
	which := g.IntN(4)
	if which < 3 {
		f.Patterns = g.Distinct(1, 2, namespaceGlobs)
		if !distinct && g.Once(4) {
			f.Patterns = append(f.Patterns, f.Patterns[0])
		}
	}
	if which > 1 {
		for range 1 + g.IntN(2) {
			var term oracle.Selector
			for range 1 + g.IntN(2) {
				q := oracle.Requirement{Key: g.One([]string{"env", "tier"}), Operator: g.One([]string{"In", "In", "NotIn", "Exists", "DoesNotExist"})}
				if q.Operator == "In" || q.Operator == "NotIn" {
					q.Values = g.Distinct(1, 2, []string{"prod", "dev", "gold"})
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
		FailMode: g.One([]string{"", "closed", "open", "open"}),
	}
	if g.Once(4) {
		s.Subresources = g.Distinct(1, 3, podSubresources)
	}
	for _, factor := range weighed {
		if !g.Once(3) {
			s.Weights[factor] = g.Number(0, 1, 10, 30, 40, 80, 150)
		}
	}
	for _, name := range g.Distinct(0, 3, capabilities) {
		s.Capabilities[name] = g.Number(0, 10, 30, 80)
	}
	score := g.Number(0, 0, 10, 30)
	for range g.IntN(4) {
		t := Threshold{MaxScore: score, Action: g.One([]string{"allow", "warn", "deny"})}
		if g.Once(2) {
			t.Reason = g.One(policyReasons)
		}
		s.Thresholds = append(s.Thresholds, t)
		score += g.Number(1, 20, 50, 100)
	}
	if g.Once(3) {
		s.BlockFactors = g.factors(1, 3)
	}
	if g.Once(5) {
		s.ExemptNamespaces = g.filter(false)
	}
	if g.Once(5) {
		for _, key := range g.Distinct(1, 2, []string{"exempt", "team"}) {
			s.ExemptLabels[key] = g.One([]string{"true", "cni"})
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
	return g.Distinct(low, high, all)
}
