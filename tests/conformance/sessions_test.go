package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
)

// loadSession adds a session, and reports whether the document is one.
func loadSession(w *access.World, d node, namespace, name string) bool {
	spec, status := d.object("spec"), d.object("status")
	switch d.text("kind", "") {
	case "BreakglassSession":
		s := &oracle.Session{
			Namespace: namespace, Name: name, Cluster: spec.text("cluster", ""), User: spec.text("user", ""), Group: spec.text("grantedGroup", ""),
			Issuer: spec.text("identityProviderIssuer", ""), AnyIssuer: spec.get("allowIDPMismatch") == true, State: status.text("state", ""),
			Scheduled: spec.text("scheduledStartTime", ""), Approved: status.text("approvedAt", ""), Started: status.text("actualStartTime", ""),
			Rejected: status.text("rejectedAt", ""), Expires: status.text("expiresAt", ""), LastActivity: status.text("lastActivity", ""),
			Policies: spec.texts("denyPolicyRefs"),
		}
		if idle := spec.text("idleTimeout", ""); idle != "" {
			length, err := time.ParseDuration(idle)
			if err != nil {
				panic(err) // the documents are valid
			}
			s.IdleMinutes = int(length.Minutes())
		}
		for _, item := range d.object("metadata").list("ownerReferences") {
			owner := node(item.(map[string]any))
			if owner.text("kind", "") == "BreakglassEscalation" && strings.HasPrefix(owner.text("apiVersion", ""), "breakglass.t-caas.telekom.com/") {
				s.Owners = append(s.Owners, owner.text("name", ""))
			}
		}
		w.Sessions = append(w.Sessions, s)
	case "DebugSession":
		s := &oracle.Debug{
			Namespace: namespace, Name: name, Cluster: spec.text("cluster", ""), State: status.text("state", ""),
			Starts: status.text("startsAt", ""), Ends: status.text("expiresAt", ""), Operations: make(map[string]bool),
		}
		for _, item := range status.list("allowedPods") {
			pod := node(item.(map[string]any))
			s.Pods = append(s.Pods, [2]string{pod.text("namespace", ""), pod.text("name", "")})
		}
		for key, on := range status.object("allowedPodOperations") {
			s.Operations[key] = fmt.Sprint(on) == "true"
		}
		for _, item := range status.list("participants") {
			p := node(item.(map[string]any))
			s.Participants = append(s.Participants, oracle.Participant{User: p.text("user", ""), Role: p.text("role", ""), Left: p.text("leftAt", "")})
		}
		w.Debug = append(w.Debug, s)
	default:
		return false
	}
	return true
}
