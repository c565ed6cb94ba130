package statement

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Sessions has the statements that sessions add to those of a World, each for the users of
// the session on its cluster: what is bound to the group that a BreakglassSession lends, the
// deny policies that it brings into scope, and the pods of a DebugSession. It is safe for
// concurrent use.
type Sessions struct {
	world  *World
	byUser map[string][]*tables.Session // by principal, in the order of names
	debug  map[string][]*Statement      // by principal
	users  []string                     // the principals of both, sorted

	mu         sync.Mutex // held to read and change what follows
	statements map[lending]*Statement
	conditions map[lent]*lent // so that those of equal sessions are searched once
}

// lending is a statement that a session lends.
type lending struct {
	session *tables.Session
	of      *Statement
}

// Sessions returns what the sessions of the revision add: those that are valid at the time
// of the World, and all that may be valid at some time for a whole one.
func (w *World) Sessions() *Sessions {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions == nil {
		w.sessions = newSessions(w)
	}
	return w.sessions
}

func newSessions(w *World) *Sessions {
	l := &Sessions{
		world: w, byUser: make(map[string][]*tables.Session), debug: make(map[string][]*Statement),
		statements: make(map[lending]*Statement), conditions: make(map[lent]*lent),
	}
	t := tables.Of[*tables.Sessions](w.Revision.Tables)
	if t == nil {
		return l
	}
	for _, s := range t.Sessions.All() {
		if s.MayHold() {
			l.byUser[UserPrefix+s.User] = append(l.byUser[UserPrefix+s.User], s)
		}
	}
	for _, s := range t.Debug.All() {
		made := debugStatement(s)
		for _, p := range made.Subjects {
			l.debug[p] = append(l.debug[p], made)
		}
	}
	l.users = slices.AppendSeq(slices.Collect(maps.Keys(l.byUser)), maps.Keys(l.debug))
	slices.Sort(l.users)
	l.users = slices.Compact(l.users)
	return l
}

// Users returns the principals that sessions are for, sorted. The caller must not change
// the list.
func (l *Sessions) Users() []string { return l.users }

// Of returns the BreakglassSessions of a user, by name. The caller must not change them.
func (l *Sessions) Of(user string) []*tables.Session { return l.byUser[user] }

// In returns the statements that sessions add for a user in one place; the empty place is
// the whole cluster.
func (l *Sessions) In(user, place string) []*Statement {
	var out []*Statement
	if place == "" {
		out = append(out, l.debug[user]...)
	}
	for _, s := range l.byUser[user] {
		if place == "" {
			out = append(out, l.Denials(s)...)
		}
		for _, group := range s.Groups {
			for _, of := range l.world.In(GroupPrefix+group, place) {
				out = append(out, l.Lend(s, of))
			}
		}
	}
	return out
}

// Holding returns the statements that sessions add for a user and that hold in a namespace,
// cluster-wide ones included; for an empty namespace those of every namespace.
func (l *Sessions) Holding(user, namespace string) []*Statement {
	out := l.In(user, "")
	if namespace != "" {
		return append(out, l.In(user, namespace)...)
	}
	var places []string
	for _, s := range l.byUser[user] {
		for _, group := range s.Groups {
			places = append(places, l.world.placesOf(GroupPrefix+group)...)
		}
	}
	for _, place := range tables.Entries(places) {
		out = append(out, l.In(user, place)...)
	}
	return out
}

// Debug returns the statements of the DebugSessions of a user. The caller must not change
// the list.
func (l *Sessions) Debug(user string) []*Statement { return l.debug[user] }

// Held returns the statements of a principal that hold in a namespace, those that sessions
// give included; for an empty namespace those of every namespace.
func (w *World) Held(principal, namespace string) []*Statement {
	return append(w.Of(principal, namespace), w.Sessions().Holding(principal, namespace)...)
}

// Denials returns the statements of the deny policies that a session brings into scope on
// its cluster. Those that are in scope without it are left out.
func (l *Sessions) Denials(s *tables.Session) []*Statement {
	return elements.Map(l.brought(s), func(of *Statement) *Statement { return l.Lend(s, of) })
}

// brought returns the statements of deny policies that are in scope through a session alone.
// One without a cluster stands for a session on any.
func (l *Sessions) brought(s *tables.Session) []*Statement {
	var out []*Statement
	for _, of := range l.world.Deny {
		p := of.Condition.(scoped).of().policy
		isAttached := slices.Contains(s.Policies, p.Name) || s.Owner != "" && slices.Contains(p.ReferredBy, s.Owner)
		isNarrow := len(p.Sessions)+len(p.EscalationRefs) > 0
		if isNarrow && (s.Cluster == "" || rule.FitsAny(p.Clusters, s.Cluster)) && (isAttached || rule.FitsAny(p.Sessions, s.Name) && rule.FitsAny(p.EscalationRefs, s.Owner)) {
			out = append(out, of)
		}
	}
	return out
}

// Lend returns a statement as one of the user of a session.
func (l *Sessions) Lend(s *tables.Session, of *Statement) *Statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := lending{s, of}
	if found := l.statements[key]; found != nil {
		return found
	}
	made := *of
	made.Condition, made.Content = l.condition(s, of), ""
	made.Subjects, made.Session, made.Base = []string{UserPrefix + s.User}, s, of
	made.Documents = append(slices.Clip(of.Documents), sessionDocument(s))
	if needsContent(of) {
		made.Content = ContentOf(of) + JSONOf(made.Condition)
	}
	l.statements[key] = &made
	return &made
}

// needsContent reports whether the condition of a statement does not identify it.
func needsContent(s *Statement) bool {
	in, isDenial := s.Condition.(scoped)
	return s.Opaque != "" || isDenial && in.of().readsTenants()
}

func (l *Sessions) condition(s *tables.Session, of *Statement) *lent {
	c := lent{Condition: of.Condition, cluster: s.Cluster, issuer: s.Issuer, anyIssuer: s.AnyIssuer}
	if s.AnyIssuer {
		c.issuer = ""
	}
	_, c.inScope = of.Condition.(scoped)
	if l.conditions[c] == nil {
		l.conditions[c] = &c
	}
	return l.conditions[c]
}

// sessionDocument is the session as a document of what it lends.
func sessionDocument(s *tables.Session) Document {
	return Document{Kind: kindSession, Namespace: s.Namespace, Name: s.Name, Source: s.Source}
}

func debugDocument(s *tables.DebugSession) Document {
	return Document{Kind: kindDebug, Namespace: s.Namespace, Name: s.Name, Source: s.Source}
}

// The kinds of sessions.
const (
	kindSession = "BreakglassSession"
	kindDebug   = "DebugSession"
)

// scoped is a condition of a deny policy.
type scoped interface{ of() scope }

// lent is a condition on the cluster of a session, empty for any, for requests of its issuer.
type lent struct {
	Condition
	cluster, issuer string
	anyIssuer       bool
	// inScope is true for the condition of a deny policy, which holds for whatever session
	// and escalation a request names.
	inScope bool
}

// Match implements Condition.
func (l *lent) Match(at stage, r *Request) uint8 {
	switch {
	case at == StageCluster && l.cluster != "" && r.Cluster != l.cluster,
		at == stageIssuer && r.Issuer != "" && !l.anyIssuer && r.Issuer != l.issuer:
		return 0
	case at == stageReferred && l.inScope:
		return 1
	}
	return l.Condition.Match(at, r)
}

func (l *lent) last() stage {
	if l.anyIssuer {
		return max(StageCluster, l.Condition.last())
	}
	return stageIssuer
}

// Mention implements Condition.
func (l *lent) Mention(v *Values) {
	l.Condition.Mention(v)
	if l.cluster != "" {
		v.Clusters().Add(l.cluster)
	}
	if !l.anyIssuer {
		v.issuers.Add(l.issuer)
	}
}

// Describe implements Condition.
func (l *lent) Describe(s *JSON) {
	l.Condition.Describe(s)
	scope := map[string][]string{"clusters": {l.cluster}}
	for i, a := range tables.ScopeAttributes {
		if list, ok := s.AppliesTo[a.List]; ok && stageOf(i) == stageScope {
			scope[a.List] = list
		}
	}
	s.AppliesTo = scope
	if !l.anyIssuer {
		s.Issuer = &l.issuer
	}
}

// Without implements Condition.
func (l *lent) Without(other Condition) Condition {
	o, isLent := other.(*lent)
	switch {
	case l.inScope && !isLent, isLent && (l.cluster != o.cluster || !o.anyIssuer && (l.anyIssuer || l.issuer != o.issuer)):
		return l
	case isLent:
		other = o.Condition
	}
	left := l.Condition.Without(other)
	if left == nil {
		return nil
	}
	if left == l.Condition {
		return l
	}
	narrow := *l
	narrow.Condition = left
	return &narrow
}

// IsLent reports whether the statement is one of bindings that a session lends to its user.
func (s *Statement) IsLent() bool { return s.Base != nil && s.Step >= FirstStep }

// Stated returns the statement that an answer has: that of the bindings for one that a
// session lends.
func (s *Statement) Stated() *Statement {
	if s.IsLent() {
		return s.Base
	}
	return s
}

// Rule returns the condition of the rule, without that of the session that lends it.
func (s *Statement) Rule() Condition {
	if l, ok := s.Condition.(*lent); ok {
		return l.Condition
	}
	return s.Condition
}

// Cluster returns the only cluster on which a session gives the statement, empty for all
// others.
func (s *Statement) Cluster() string {
	switch c := s.Condition.(type) {
	case *lent:
		return c.cluster
	case *debugRule:
		return c.s.Cluster
	}
	return ""
}

// IsOf reports whether the session lends what is bound to its group to a request on a
// cluster, empty for any, of an issuer, empty for one that states none.
func IsOf(s *tables.Session, cluster, issuer string) bool {
	return (cluster == "" || s.Cluster == cluster) && (issuer == "" || s.AnyIssuer || s.Issuer == issuer)
}

// debugRule is what a DebugSession lets its participants do.
type debugRule struct{ s *tables.DebugSession }

func debugStatement(s *tables.DebugSession) *Statement {
	out := &Statement{family: familyDebug, Effect: OutcomeAllow, Rank: ranks[:1], Condition: &debugRule{s}, Dates: s.Dates, Documents: []Document{debugDocument(s)}, Subjects: []string{}}
	for _, p := range s.Participants {
		out.Subjects = append(out.Subjects, UserPrefix+p.User)
	}
	out.Subjects = tables.Entries(out.Subjects)
	return out
}

// Match implements Condition.
func (d *debugRule) Match(at stage, r *Request) uint8 {
	isPod := func(fits func(tables.PodName) bool) uint8 { return Bit(slices.ContainsFunc(d.s.Pods, fits)) }
	switch at {
	case stageTarget:
		return Bit(r.Resource == "pods" && slices.Contains(d.s.Subresources, r.Subresource))
	case stageGroup:
		return Bit(r.Group == "")
	case stageName: // of several pods, those of one name are told apart by their namespaces
		return isPod(func(p tables.PodName) bool { return p.Name == r.Name && p.Name != "" && p.Namespace != "" })
	case stageNamespace:
		return isPod(func(p tables.PodName) bool {
			return p.Name == r.Name && p.Namespace == r.Namespace && p.Namespace != ""
		})
	case StageCluster:
		return Bit(r.Cluster == d.s.Cluster)
	}
	return 1
}

func (d *debugRule) filter() *tables.NamespaceFilter { return nil }

func (d *debugRule) last() stage { return StageCluster }

// Mention implements Condition.
func (d *debugRule) Mention(v *Values) {
	v.pods = true
	v.resources.Add("pods")
	v.subresources.Add(d.s.Subresources...)
	v.groups.Add("")
	for _, p := range d.s.Pods {
		v.names.Add(p.Name)
		v.namespaces.Add(p.Namespace)
	}
	v.Clusters().Add(d.s.Cluster)
}

// Describe implements Condition.
func (d *debugRule) Describe(s *JSON) {
	s.Rule, s.AppliesTo = &Row{Pods: d.s.Pods, Subresources: d.s.Subresources}, map[string][]string{"clusters": {d.s.Cluster}}
}

// Without implements Condition.
func (d *debugRule) Without(other Condition) Condition {
	if o, ok := other.(*debugRule); ok && d.s.Cluster == o.s.Cluster && reflect.DeepEqual(d.s.Pods, o.s.Pods) && reflect.DeepEqual(d.s.Subresources, o.s.Subresources) {
		return nil
	}
	return d
}

// Pods returns the namespaces, the names and the resources of what a DebugSession lets into;
// nil for other statements.
func (s *Statement) Pods() (namespaces, names, resources []string) {
	d, ok := s.Condition.(*debugRule)
	if !ok {
		return nil, nil, nil
	}
	for _, p := range d.s.Pods {
		namespaces, names = append(namespaces, p.Namespace), append(names, p.Name)
	}
	for _, sub := range d.s.Subresources {
		resources = append(resources, "pods/"+sub)
	}
	return tables.Entries(namespaces), tables.Entries(names), resources
}

// debugKey is the key of a DebugSession in the tables.
func debugKey(namespace, name string) string { return namespace + " " + name }

// hasSameSession reports whether another revision has the same session.
func (w *World) hasSameSession(other *World, d Document) bool {
	s, t := tables.Of[*tables.Sessions](w.Revision.Tables), tables.Of[*tables.Sessions](other.Revision.Tables)
	switch {
	case !other.Has(d.Kind, d.Namespace, d.Name):
		return false
	case d.Kind == kindSession:
		return s.Sessions.At(d.Name).Same(t.Sessions.At(d.Name))
	}
	key := debugKey(d.Namespace, d.Name)
	return s.Debug.At(key).Same(t.Debug.At(key))
}

// SessionsThatDiffer returns the sessions that another revision lacks or has in another form,
// of those that may be valid at some time.
func (w *World) SessionsThatDiffer(other *World) []Document {
	t := tables.Of[*tables.Sessions](w.Revision.Tables)
	if t == nil {
		return nil
	}
	var out []Document
	for _, s := range t.Sessions.All() {
		if s.MayHold() {
			out = append(out, sessionDocument(s))
		}
	}
	for _, s := range t.Debug.All() {
		out = append(out, debugDocument(s))
	}
	return slices.DeleteFunc(out, func(d Document) bool { return w.hasSameSession(other, d) })
}

// PodSecurity returns pod security as it is for a user through sessions: that of policies
// that they bring into scope, and that which the escalations of their owners override.
func (l *Sessions) PodSecurity(user string) []*Statement {
	var out []*Statement
	for _, s := range l.byUser[user] {
		out = append(out, elements.Filter(l.Denials(s), func(denial *Statement) bool { return denial.Opaque == WhyPod })...)
		override := l.override(s)
		for _, of := range l.world.Deny {
			if override == "" || of.Opaque != WhyPod || !rule.FitsAny(of.Condition.(scoped).of().policy.Clusters, s.Cluster) {
				continue
			}
			made := *l.Lend(s, of)
			made.Content += override
			out = append(out, &made)
		}
	}
	return out
}

// override identifies the override of pod security that a session is the proof of, empty
// without one.
func (l *Sessions) override(s *tables.Session) string {
	deny := tables.Of[*tables.Deny](l.world.Revision.Tables)
	if deny == nil || s.Owner == "" {
		return ""
	}
	i := slices.IndexFunc(deny.Owned, func(e tables.Escalation) bool { return e.Name == s.Owner })
	if i < 0 {
		return ""
	}
	e := deny.Owned[i]
	e.Source = ""
	return JSONText(e)
}

// All returns the statements that sessions give to all of their users in a namespace; for an
// empty namespace those in every namespace.
func (l *Sessions) All(namespace string) iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for _, user := range l.users {
			for _, s := range l.Holding(user, namespace) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// DatedSessions returns the sessions that begin or end.
func (w *World) DatedSessions() []Dated {
	var out []Dated
	t := tables.Of[*tables.Sessions](w.Revision.Tables)
	if t == nil {
		return nil
	}
	for _, s := range t.Sessions.All() {
		if s.MayHold() && s.Dates != nil {
			out = append(out, Dated{sessionDocument(s), s.Dates, ""})
		}
	}
	for _, s := range t.Debug.All() {
		if s.Dates != nil {
			out = append(out, Dated{debugDocument(s), s.Dates, ""})
		}
	}
	return out
}
