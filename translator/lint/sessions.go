package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	documents "github.com/writ-policy/writ/translator/escalation"
	"github.com/writ-policy/writ/translator/session"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Sessions returns the warnings about sessions and escalations: those that last longer than
// they should, or that fewer people check than it seems.
func Sessions(d *directory.Directory, list tables.List) diag.List {
	c := sessionChecks{providers: make(map[string]*documents.IdentityProvider), clusters: directory.DocumentsOf[*documents.ClusterConfig](d)}
	for _, p := range directory.DocumentsOf[*documents.IdentityProvider](d) {
		c.providers[p.Name] = p
	}
	for _, cluster := range c.clusters {
		for _, ref := range cluster.Providers {
			c.provider(ref, "")
		}
	}
	for _, s := range directory.DocumentsOf[*session.BreakglassSession](d) {
		if s.Provider.Value != "" {
			c.provider(s.Provider, s.Issuer)
		}
		if s.State == session.StateApproved && s.Expires != nil {
			c.length(s)
		}
	}
	for _, s := range directory.DocumentsOf[*session.DebugSession](d) {
		if s.State == session.StateActive {
			c.debug(s)
		}
	}
	both := make(map[string][]string)
	for _, e := range question.EscalationsOf(list, "", "", 0).Escalations {
		both[e.Source] = e.Both
	}
	for _, e := range directory.DocumentsOf[*deny.BreakglassEscalation](d) {
		c.approvers(e, both[e.At.Source()])
	}
	return c.list
}

// sessionChecks is the state of the checks of one directory.
type sessionChecks struct {
	providers map[string]*documents.IdentityProvider
	clusters  []*documents.ClusterConfig
	list      diag.List
}

func (c *sessionChecks) warn(at diag.Position, code diag.Code, hint, format string, args ...any) {
	c.list.Add(diag.Diagnostic{Position: at, Severity: diag.Warning, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

func (c *sessionChecks) at(text syntax.Text, code diag.Code, hint, format string, args ...any) {
	c.list.Add(text.Diagnostic(diag.Warning, code, hint, format, args...))
}

// provider checks a reference to an IdentityProvider where there are some. An empty issuer
// is not compared.
func (c *sessionChecks) provider(ref syntax.Text, issuer string) {
	name := syntax.Quote(ref.Value)
	switch p := c.providers[ref.Value]; {
	case len(c.providers) == 0:
	case p == nil:
		c.at(ref, diag.Provider, "declare it in this directory, or look how its name is spelt", "IdentityProvider %s not found", name)
	case p.Disabled:
		c.at(ref, diag.Provider, "name another provider, or enable it", "IdentityProvider %s is disabled", name)
	case issuer != "" && p.Issuer != issuer:
		c.at(ref, diag.Provider, "write the issuer of the provider", "the issuer of IdentityProvider %s is %s, and identityProviderIssuer is %s", name, syntax.Quote(p.Issuer), syntax.Quote(issuer))
	}
}

// length checks how long an approved session lasts.
func (c *sessionChecks) length(s *session.BreakglassSession) {
	start, end := s.Start(), s.End()
	switch {
	case start == nil:
	case !end.After(*start):
		c.warn(s.ExpiresAt, diag.NeverValid, "remove the session", "the session ends %s and begins %s: it is never valid", dates.Format(*end), dates.Format(*start))
	case s.Expires.After(start.Add(s.MaxValidFor)):
		c.warn(s.ExpiresAt, diag.LongerThanAllowed, "end it earlier", "the session lasts until %s, longer than maxValidFor (%s) after its start %s",
			dates.Format(*s.Expires), s.MaxValidFor, dates.Format(*start))
	}
}

// debug checks an active DebugSession.
func (c *sessionChecks) debug(s *session.DebugSession) {
	if s.Ends == nil {
		c.warn(s.At, diag.NeverEnds, "give its status an expiresAt", "DebugSession %s is active and does not end", syntax.Quote(s.Name))
	}
	if !s.Object {
		c.warn(s.At, diag.LiftsDenials, "let the cluster hold the session, and read it with kube:",
			"DebugSession %s lets its participants into pods before all denials", syntax.Quote(s.Name))
	}
}

// approvers checks who approves an escalation. both are the groups that may request and
// approve.
func (c *sessionChecks) approvers(e *deny.BreakglassEscalation, both []string) {
	for _, group := range e.Approvers.Groups {
		if slices.Contains(both, tables.Group(group.Value)) {
			c.at(group, diag.SelfApproval, "set blockSelfApproval: true, or let another group approve",
				"a member of group %s may approve their own request for group %s", syntax.Quote(group.Value), syntax.Quote(e.EscalatedGroup))
		}
	}
	for _, user := range e.Approvers.Users {
		if domains := c.domainsAgainst(e, user.Value); len(domains) > 0 {
			c.at(user, diag.ApproverDomain, "name an address of one of the domains", "user %s cannot approve: addresses of approvers must end in @%s",
				syntax.Quote(user.Value), strings.Join(domains, " or @"))
		}
	}
	for _, hidden := range e.Approvers.Hidden {
		isHidden := func(t syntax.Text) bool { return t.Value == hidden.Value }
		if !slices.ContainsFunc(e.Approvers.Users, isHidden) && !slices.ContainsFunc(e.Approvers.Groups, isHidden) {
			c.at(hidden, diag.HiddenApprover, "add it to users or groups of approvers", "%s is hidden and approves nothing: hiddenFromUI does not make it an approver", syntax.Quote(hidden.Value))
		}
	}
}

// domainsAgainst returns the domains that an approver must have and has not, nil if the
// escalation or some cluster that it fits admits the approver.
func (c *sessionChecks) domainsAgainst(e *deny.BreakglassEscalation, user string) []string {
	if len(e.Domains) > 0 {
		if question.InDomains(user, e.Domains) {
			return nil
		}
		return e.Domains
	}
	var domains []string
	for _, cluster := range c.clusters {
		if !slices.ContainsFunc(e.Clusters, func(g tables.PathGlob) bool { return g.Match(cluster.Name) }) {
			continue
		}
		if len(cluster.Domains) == 0 || question.InDomains(user, cluster.Domains) {
			return nil
		}
		domains = append(domains, cluster.Domains...)
	}
	return tables.Entries(domains)
}

// Ends states which ends of documents are reported. The zero value reports none.
type Ends struct {
	Now time.Time
	// Expired is how long ago an end is at least, and Within how near it is at most.
	Expired, Within time.Duration
}

// Check returns a warning for each document that has ended or ends soon.
func (e Ends) Check(d *directory.Directory) diag.List {
	var list diag.List
	if e.Now.IsZero() {
		return list
	}
	add := func(h *syntax.Header, end *syntax.End, still string) {
		if end == nil {
			return
		}
		found := diag.Diagnostic{Position: end.At, Severity: diag.Warning}
		name := syntax.Quote(strings.TrimPrefix(h.Namespace+"/"+h.Name, "/"))
		switch {
		case !end.After(e.Now.Add(-e.Expired)):
			found.Code, found.Hint = diag.Expired, "remove it"
			found.Message = fmt.Sprintf("%s %s ended %s", h.Kind, name, dates.Format(end.Time))
		case end.After(e.Now) && !end.After(e.Now.Add(e.Within)):
			found.Code, found.Hint = diag.EndsSoon, still+" if it is still needed"
			found.Message = fmt.Sprintf("%s %s ends %s", h.Kind, name, dates.Format(end.Time))
		default:
			return
		}
		list.Add(found)
	}
	const write, request = "write a later end", "request another session" // a controller writes the end of a session
	for _, b := range directory.DocumentsOf[*access.KubernetesBinding](d) {
		add(&b.Header, b.Dates.End, write)
	}
	for _, b := range directory.DocumentsOf[*access.OriginBinding](d) {
		add(&b.Header, b.Dates.End, write)
	}
	for _, p := range directory.DocumentsOf[*deny.DenyPolicy](d) {
		add(&p.Header, p.Dates.End, write)
	}
	for _, s := range directory.DocumentsOf[*session.BreakglassSession](d) {
		if s.State == session.StateApproved {
			add(&s.Header, syntax.EndAt(s.End(), s.ExpiresAt), request)
		}
	}
	for _, s := range directory.DocumentsOf[*session.DebugSession](d) {
		if s.State == session.StateActive {
			add(&s.Header, syntax.EndAt(s.Ends, s.EndsAt), request)
		}
	}
	return list
}
