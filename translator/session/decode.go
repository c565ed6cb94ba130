package session

import (
	_ "embed"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields.txt
var fieldTexts string

// The kinds of the family, and those of the same API that sessions refer to.
const (
	group          = tables.BreakglassGroup
	version        = tables.BreakglassVersion
	kindBreakglass = "BreakglassSession"
	kindDebug      = "DebugSession"
	kindEscalation = "BreakglassEscalation"
	kindDenyPolicy = "DenyPolicy"
)

var kinds = syntax.KindsOf(version, decode, kindBreakglass, kindDebug).
	WithDates(kindBreakglass, kindDebug).WithWords("breakglass").WithTexts(fieldTexts)

// The states of a BreakglassSession. It may have none.
var states = []string{
	"Pending", StateApproved, "Rejected", "Expired", "IdleExpired", "Withdrawn", "ApprovalTimeout", "WaitingForScheduledTime",
}

// decode decodes a document of the family.
func decode(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h := d.Header(family, version, kind.Value.Value, kind.Key)
	h.Shared = true
	b, g := &BreakglassSession{}, &DebugSession{}
	identified := false
	wrong := d.Tolerate(func() {
		c := d.Cursor(n, h.Kind, false)
		c.At = kind.Key
		c.Skip("apiVersion", "kind")
		identified = decodeMetadata(d, c, &h, b)
		spec, status := c.RequiredMapping("spec", ""), c.Mapping("status")
		if h.Kind == kindBreakglass {
			decodeSpec(d, spec, b)
			spec.Done()
			decodeStatus(d, status, b)
		} else {
			g.Cluster = requiredText(spec, "cluster")
			spec.DoneWithSlips()
			decodeDebugStatus(d, status, g)
		}
		status.DoneWithSlips()
		c.Done()
	})
	switch {
	case !identified:
	case h.Kind == kindBreakglass:
		b.Header, b.Wrong = h, wrong
		d.Out = append(d.Out, b)
	default:
		g.Header, g.Wrong = h, wrong
		d.Out = append(d.Out, g)
	}
}

// decodeMetadata reads metadata and reports whether the document has a name. The namespace
// is optional.
func decodeMetadata(d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header, s *BreakglassSession) (identified bool) {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false
	}
	m.Skip(syntax.ServerFields...)
	m.Skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	d.CheckUndated(m.Node, h.Kind)
	identified = d.CustomNameInto(m, h)
	m.Labels("labels")
	if n := m.Text("namespace"); n != nil && n.Value != "" && d.CheckNamespace(n) {
		h.Namespace = n.Value
	}
	if owners := m.Value("ownerReferences"); owners != nil && owners.Type == syntax.List {
		s.Owners = ownersIn(owners)
	}
	m.Done()
	return identified
}

// ownersIn returns the escalations among ownerReferences, which servers write.
func ownersIn(list *syntax.Node) (out []Owner) {
	for _, n := range list.Items {
		text := func(name string) string { return n.Present(name, false).Text() }
		of, _, _ := strings.Cut(text("apiVersion"), "/")
		if text("kind") == kindEscalation && of == group {
			out = append(out, Owner{text("name"), text("uid")})
		}
	}
	return out
}

// requiredText returns a string that must not be blank.
func requiredText(c *syntax.Cursor, name string) string {
	if c == nil {
		return ""
	}
	n := c.Required(name)
	if n != nil && strings.TrimSpace(n.Value) == "" {
		c.Fail(n, diag.Missing, "", "%s of %s is blank", name, c.What)
	}
	return n.Text()
}

func decodeSpec(d *syntax.Decoder, c *syntax.Cursor, s *BreakglassSession) {
	if c == nil {
		return
	}
	s.Cluster, s.User, s.Group = requiredText(c, "cluster"), requiredText(c, "user"), requiredText(c, "grantedGroup")
	s.Scheduled = c.Time("scheduledStartTime")
	s.Issuer = c.Text("identityProviderIssuer").Text()
	s.AnyIssuer, _ = c.Boolean("allowIDPMismatch", false)
	s.Provider = d.Text(c.Text("identityProviderName"))
	refs, _ := c.Texts("denyPolicyRefs")
	s.DenyPolicyRefs = append(s.DenyPolicyRefs, elements.Map(refs, d.Text)...)
	decodeLengths(c, s)
	c.Skip("retainFor", "clusterConfigRef", "requestReason", "requestReasonConfig", "approvalReasonConfig")
}

// The least idleTimeout.
const leastIdle = time.Minute

// defaultValidFor is the maxValidFor of a session that states none.
const defaultValidFor = time.Hour

func decodeLengths(c *syntax.Cursor, s *BreakglassSession) {
	length, lengthIsWrong := duration(c, "maxValidFor")
	most := "1h"
	if s.MaxValidFor = length; length == 0 {
		s.MaxValidFor = defaultValidFor
	} else {
		most = c.Value("maxValidFor").Value
	}
	if s.IdleTimeout, _ = duration(c, "idleTimeout"); s.IdleTimeout == 0 {
		return
	}
	switch n := c.Value("idleTimeout"); {
	case s.IdleTimeout < leastIdle:
		c.Fail(n, diag.BadValue, "", "idleTimeout %s must be at least 1m", syntax.Quote(n.Value))
	case s.IdleTimeout > s.MaxValidFor && !lengthIsWrong:
		c.Fail(n, diag.BadValue, "", "idleTimeout %s must be at most maxValidFor, which is %s", syntax.Quote(n.Value), most)
	}
}

// duration reads an optional duration, zero where it is absent or wrong.
func duration(c *syntax.Cursor, name string) (length time.Duration, isWrong bool) {
	n := c.Value(name)
	if n == nil {
		return 0, false
	}
	length, err := dates.ParseDuration(n.Value)
	if n.Type != syntax.String || err != nil {
		c.Fail(n, diag.BadValue, "", "%s %s: %s", name, syntax.Quote(n.Value), dates.ErrDuration)
		return 0, true
	}
	return length, false
}

func decodeStatus(d *syntax.Decoder, c *syntax.Cursor, s *BreakglassSession) {
	if c == nil {
		return
	}
	s.State = state(d, c, states)
	s.Approved, s.Started = c.Time("approvedAt"), c.Time("actualStartTime")
	s.Rejected = c.Value("rejectedAt") != nil
	c.Time("rejectedAt")
	s.Expires, s.LastActivity = c.Time("expiresAt"), c.Time("lastActivity")
	if s.Expires != nil {
		s.ExpiresAt = d.At(c.Value("expiresAt"))
	}
}

// state reads the state of a session, which is empty where it is absent.
func state(d *syntax.Decoder, c *syntax.Cursor, known []string) string {
	n := c.Text("state")
	if n == nil || n.Value == "" || !d.CheckOneOf(n, "state", known...) {
		return ""
	}
	return n.Value
}

var debugStates = []string{"Pending", "PendingApproval", StateActive, "Expired", "Terminated", "Failed"}

// operations are the keys of allowedPodOperations with the subresource that each allows.
// The last one must be switched on, the others off.
var operations = []struct{ key, subresource string }{
	{"exec", "exec"}, {"attach", "attach"}, {"portForward", "portforward"}, {"logs", "log"},
}

func decodeDebugStatus(d *syntax.Decoder, c *syntax.Cursor, s *DebugSession) {
	if c == nil {
		return
	}
	s.State = state(d, c, debugStates)
	s.Starts, s.Ends = c.Time("startsAt"), c.Time("expiresAt")
	if s.Ends != nil {
		s.EndsAt = d.At(c.Value("expiresAt"))
	}
	pods, _ := c.List("allowedPods")
	for _, n := range pods {
		pod := d.Cursor(n, "an entry of allowedPods", false)
		name := tables.PodName{Namespace: pod.Text("namespace").Text(), Name: pod.Text("name").Text()}
		pod.DoneWithSlips()
		s.Pods = append(s.Pods, name)
	}
	allowed := c.Mapping("allowedPodOperations")
	for _, o := range operations {
		byDefault := o.key != "logs"
		if on, at := allowed.Boolean(o.key, false); on || at == nil && byDefault {
			s.Subresources = append(s.Subresources, o.subresource)
		}
	}
	allowed.DoneWithSlips()
	participants, _ := c.List("participants")
	for i, n := range participants {
		s.addParticipant(d, i, n)
	}
}

// addParticipant adds a participant who may use the pods: not a viewer, and not one who has
// left.
func (s *DebugSession) addParticipant(d *syntax.Decoder, index int, n *syntax.Node) {
	c := d.Cursor(n, "a participant", false)
	user, role := c.Text("user").Text(), c.Text("role")
	hasLeft := c.Value("leftAt") != nil
	c.Time("leftAt")
	c.DoneWithSlips()
	if role == nil || !d.CheckOneOf(role, "role", "owner", "participant", "viewer") {
		return
	}
	if user != "" && role.Value != "viewer" && !hasLeft {
		s.Participants = append(s.Participants, tables.Participant{User: user, Role: role.Value, Index: index})
	}
}
