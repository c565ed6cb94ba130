package session

import (
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

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
		name := tables.PodName{Namespace: optionalText(pod, "namespace"), Name: optionalText(pod, "name")}
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
	user, role := optionalText(c, "user"), c.Text("role")
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

func optionalText(c *syntax.Cursor, name string) string {
	if n := c.Text(name); n != nil {
		return n.Value
	}
	return ""
}
