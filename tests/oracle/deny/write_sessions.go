package deny

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

var states = []string{"Approved", "Approved", "Approved", "Approved", "Approved", "Approved", "", "Pending", "WaitingForScheduledTime", "Rejected", "IdleExpired"}

// GenerateSessions draws sessions, with times of the bounds: mostly such that are valid at
// some time.
func (d *Denials) GenerateSessions(r random.Source, bounds []string) {
	g := &generator{r, d}
	middle := bounds[3:] // those after the first instant of the clock
	for i := range 2 + g.IntN(8) {
		name := fmt.Sprintf("s-%d", i)
		if g.Once(6) {
			name = "emergency"
		}
		if g.has(name) {
			continue
		}
		s := &oracle.Session{
			Namespace: g.One([]string{"", "bg"}), Name: name, Cluster: g.One([]string{"prod-eu.1", "dev", "edge"}),
			User: g.One(random.Users), Group: g.One(append([]string{"ops", "ev", "authenticated"}, random.Groups...)), State: g.One(states),
			Expires: g.One(middle), Issuer: g.One([]string{"", "a", "b"}), AnyIssuer: g.Once(4),
		}
		if e := d.Escalations; len(e) > 0 && g.Once(3) {
			s.Group = g.One(append([]string{s.Group}, e[g.IntN(len(e))].Groups...))
		}
		for _, at := range []*string{&s.Scheduled, &s.Approved, &s.Started} {
			if g.Once(4) {
				*at = g.One(middle)
			}
		}
		if g.Once(2) {
			s.Approved = middle[g.IntN(2)]
		}
		if g.Once(12) {
			s.Rejected = g.One(middle)
		}
		if g.Once(12) {
			s.Expires = ""
		}
		if g.Once(3) {
			s.IdleMinutes = []int{1, 30, 59, 60, 60 * 24 * 300}[g.IntN(5)]
		}
		if g.Once(2) {
			s.LastActivity = g.One(middle)
		}
		if g.Once(2) {
			s.Owners = g.Some(1, 3, append([]string{"unknown"}, escalationNames...))
		}
		for _, p := range d.DenyPolicies {
			if g.Once(5) {
				s.Policies = append(s.Policies, p.Name)
			}
		}
		d.Sessions = append(d.Sessions, s)
	}
	g.debugSessions(middle)
}

// ChangeSessions changes times and states of some sessions, and removes some.
func (d *Denials) ChangeSessions(r random.Source, bounds []string) {
	middle := bounds[3:]
	change := func(odds int, at *string, list []string) {
		if r.Once(odds) {
			*at = r.One(list)
		}
	}
	for _, s := range d.Sessions {
		change(3, &s.Expires, middle)
		change(4, &s.Approved, middle)
		change(4, &s.LastActivity, middle)
		change(4, &s.State, states)
	}
	for _, s := range d.Debug {
		change(3, &s.Ends, middle)
		change(4, &s.State, []string{"Active", "Terminated"})
		for i := range s.Participants {
			change(4, &s.Participants[i].Left, []string{"", middle[0]})
		}
	}
	d.Sessions = slices.DeleteFunc(d.Sessions, func(*oracle.Session) bool { return r.Once(6) })
}

func (g *generator) has(name string) bool {
	for _, s := range g.denials.Sessions {
		if s.Name == name {
			return true
		}
	}
	return false
}

func (g *generator) debugSessions(times []string) {
	for i := range g.IntN(5) {
		s := &oracle.Debug{
			Namespace: g.One([]string{"", "a", "a-b"}), Name: fmt.Sprintf("d%d", i), Cluster: g.One([]string{"prod-eu.1", "dev", "edge"}),
			State: g.One([]string{"Active", "Active", "Active", "", "Expired"}), Operations: map[string]bool{},
		}
		if g.Once(2) {
			s.Starts = g.One(times)
		}
		if !g.Once(4) {
			s.Ends = g.One(times)
		}
		for range g.IntN(6) {
			s.Pods = append(s.Pods, [2]string{g.One(random.Namespaces), g.One([]string{"web-0", "db", "b.c"})})
		}
		for _, key := range g.Some(0, 2, []string{"exec", "attach", "portForward", "logs"}) {
			s.Operations[key] = g.Once(2)
		}
		for range g.IntN(5) {
			p := oracle.Participant{User: g.One(random.Users), Role: g.One([]string{"owner", "participant", "viewer"})}
			if g.Once(5) {
				p.Left = g.One(times)
			}
			s.Participants = append(s.Participants, p)
		}
		g.denials.Debug = append(g.denials.Debug, s)
	}
}

// ApproachSession turns the request towards a session: to its user, cluster and pods.
func (d *Denials) ApproachSession(draw random.Source, r *oracle.Request) {
	if len(d.Sessions) > 0 && !draw.Once(4) {
		s := d.Sessions[draw.IntN(len(d.Sessions))]
		r.User, r.Cluster = s.User, s.Cluster
		if draw.Once(3) {
			r.Session = d.Sessions[draw.IntN(len(d.Sessions))].Name
		}
		if draw.Once(3) {
			r.Extra = map[string][]string{"identity.t-caas.telekom.com/issuer": append([]string{}, draw.Some(0, 2, []string{"", "a", "b"})...)}
		}
		if draw.Once(2) {
			d.requestThrough(draw, s.Group, r)
		}
		return
	}
	if len(d.Debug) == 0 || r.Path != "" {
		return
	}
	s := d.Debug[draw.IntN(len(d.Debug))]
	r.Cluster = s.Cluster
	if len(s.Participants) == 0 || len(s.Pods) == 0 {
		return
	}
	r.User = s.Participants[draw.IntN(len(s.Participants))].User
	pod := s.Pods[draw.IntN(len(s.Pods))]
	r.APIGroup, r.Resource, r.Namespace, r.Name = "", "pods", pod[0], pod[1]
	r.Subresource = draw.One([]string{"exec", "exec", "attach", "portforward", "log", "EXEC", "proxy"})
}

// requestThrough turns the request into a pod, by an escalation that the session's group may
// request and the request's groups may not: the group of a session does not count there.
func (d *Denials) requestThrough(draw random.Source, group string, r *oracle.Request) {
	for _, e := range d.Escalations {
		if e.Overrides == nil || !slices.Contains(e.Groups, group) {
			continue
		}
		cluster := r.Cluster
		requester{draw, d}.intoPod(r)
		r.Cluster, r.Escalation = cluster, e.Name
		r.Groups = slices.DeleteFunc(slices.Clone(r.Groups), func(other string) bool { return slices.Contains(e.Groups, other) })
		return
	}
}

func (g *generator) session(s *oracle.Session) yaml.Object {
	metadata := yaml.Object{{"name", s.Name}}
	if s.Namespace != "" {
		metadata = append(metadata, yaml.Member{"namespace", s.Namespace})
	}
	owners := yaml.List{}
	for _, name := range s.Owners {
		if g.Once(3) {
			owners = append(owners, yaml.Object{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", name}})
		}
		owners = append(owners, yaml.Object{{"apiVersion", Version}, {"kind", "BreakglassEscalation"}, {"name", name}, {"uid", "u"}})
	}
	if len(owners) > 0 {
		metadata = append(metadata, yaml.Member{"ownerReferences", owners})
	}
	spec := yaml.Object{{"cluster", s.Cluster}, {"user", s.User}, {"grantedGroup", s.Group}, {"maxValidFor", "365d"}}
	spec = with(spec, "scheduledStartTime", s.Scheduled)
	spec = with(spec, "identityProviderIssuer", s.Issuer)
	if s.AnyIssuer {
		spec = append(spec, yaml.Member{"allowIDPMismatch", true})
	}
	if s.IdleMinutes > 0 {
		spec = append(spec, yaml.Member{"idleTimeout", fmt.Sprintf("%dm", s.IdleMinutes)})
	}
	spec = g.optional(spec, "denyPolicyRefs", s.Policies)
	var status yaml.Object
	for _, field := range [][2]string{
		{"state", s.State}, {"approvedAt", s.Approved}, {"actualStartTime", s.Started}, {"rejectedAt", s.Rejected},
		{"expiresAt", s.Expires}, {"lastActivity", s.LastActivity},
	} {
		status = with(status, field[0], field[1])
	}
	return yaml.Object{{"apiVersion", Version}, {"kind", yaml.Mark("BreakglassSession", &s.Source)}, {"metadata", metadata}, {"spec", spec}, {"status", status}}
}

// with adds a text that is not empty.
func with(o yaml.Object, key, text string) yaml.Object {
	if text == "" {
		return o
	}
	return append(o, yaml.Member{key, text})
}

func (g *generator) debugSession(s *oracle.Debug) yaml.Object {
	metadata := yaml.Object{{"name", s.Name}}
	metadata = with(metadata, "namespace", s.Namespace)
	status := with(yaml.Object{{"phase", "x"}}, "state", s.State)
	status = with(with(status, "startsAt", s.Starts), "expiresAt", s.Ends)
	pods, people, operations := yaml.List{}, yaml.List{}, yaml.Object{}
	for _, pod := range s.Pods {
		pods = append(pods, yaml.Object{{"namespace", pod[0]}, {"name", pod[1]}})
	}
	for _, p := range s.Participants {
		people = append(people, with(yaml.Object{{"user", p.User}, {"role", p.Role}}, "leftAt", p.Left))
	}
	for _, key := range []string{"exec", "attach", "portForward", "logs"} {
		if on, written := s.Operations[key]; written {
			operations = append(operations, yaml.Member{key, on})
		}
	}
	status = append(status, yaml.Member{"allowedPods", pods}, yaml.Member{"participants", people})
	if len(operations) > 0 {
		status = append(status, yaml.Member{"allowedPodOperations", operations})
	}
	return yaml.Object{{"apiVersion", Version}, {"kind", yaml.Mark("DebugSession", &s.Source)}, {"metadata", metadata}, {"spec", yaml.Object{{"cluster", s.Cluster}}}, {"status", status}}
}
