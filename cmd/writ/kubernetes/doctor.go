package kubernetes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

// Doctor checks a running chain from an API server to writ. Authorization is required.
type Doctor struct {
	// Authorization is the file of kube-apiserver --authorization-config.
	Authorization string
	// Webhook is the name of the authorizer that is writ; empty means the only webhook.
	Webhook string
	// Kubeconfig and Context are how an administrator reaches the API server. Without a
	// kubeconfig nothing is asked of the API server.
	Kubeconfig string
	Context    string
	// Identities are the users as whom writ reads the cluster.
	Identities []string
	// Objects are the resources whose objects facts of the clusters file read, as
	// "secrets" or "deployments.apps", beside pods and namespaces.
	Objects []string
	// Pods states that policies evaluate pods.
	Pods bool
	// Version is the version that writ should have; empty means any.
	Version string
	// Companion is a folder of writ kubernetes admission; empty: it is not checked. Addresses
	// are the API servers that must have it, empty for that of the kubeconfig, and
	// ProbeNamespace is where its probe would be created.
	Companion      string
	Addresses      []string
	ProbeNamespace string
	// Timeout bounds each request.
	Timeout time.Duration
}

// Severities of a finding, beside passedSeverity.
const (
	Warning = "warning"
	Failed  = "error"

	passedSeverity = "ok"
)

// Finding is what one check found.
type Finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"`
	// At is the place in a file, FILE:LINE:COLUMN, or a URL; empty for neither.
	At      string `json:"at,omitempty"`
	Message string `json:"message"`
	// Hint is what to do.
	Hint string `json:"hint,omitempty"`
}

// examination is the findings so far. check names what is checked.
type examination struct {
	*Doctor
	check    string
	findings []Finding
}

func (e *examination) report(severity, at, hint, format string, args ...any) {
	e.findings = append(e.findings, Finding{e.check, severity, at, fmt.Sprintf(format, args...), hint})
}

func (e *examination) fail(at, hint, format string, args ...any) {
	e.report(Failed, at, hint, format, args...)
}

func (e *examination) warn(at, hint, format string, args ...any) {
	e.report(Warning, at, hint, format, args...)
}

// begin starts a check, and returns a function that reports that it passed, unless it
// has a finding by then.
func (e *examination) begin(check string) (passed func(at, format string, args ...any)) {
	e.check = check
	before := len(e.findings)
	return func(at, format string, args ...any) {
		if len(e.findings) == before {
			e.report(passedSeverity, at, "", format, args...)
		}
	}
}

// Examine runs the checks, as far as earlier ones permit.
func (d *Doctor) Examine(ctx context.Context) []Finding {
	e := &examination{Doctor: d}
	if d.Companion != "" {
		e.examineCompanion(ctx)
	}
	passed := e.begin("configuration")
	content, err := os.ReadFile(d.Authorization)
	if err != nil {
		e.fail("", "name the file of kube-apiserver with --authorization-config, and run the command where the file is", "%v", err)
		return e.findings
	}
	authorizers, diagnostics := readAuthorizers(d.Authorization, content)
	for _, g := range diagnostics {
		e.fail(g.Position.String(), cmp.Or(g.Hint, "correct it: an API server does not start with this file"), "%s", g.Message)
	}
	w := e.choose(authorizers)
	passed(d.Authorization, "the file is an AuthorizationConfiguration with %s", diag.Counted(len(authorizers), "authorizer"))
	if d.Kubeconfig != "" {
		e.examineServer(ctx, fmt.Sprintf("sha256:%x", sha256.Sum256(content)))
	}
	if w == nil {
		return e.findings
	}
	e.examineOrder(authorizers, w)
	e.examineWebhook(w)
	e.examineConditions(w)
	e.examineConnection(ctx, w)
	return e.findings
}

// choose returns the webhook that is writ; nil if that is not known.
func (e *examination) choose(list []authorizer) *authorizer {
	var found []*authorizer
	for i := range list {
		if each := &list[i]; each.kind == webhookType && (e.Webhook == "" || each.name == e.Webhook) {
			found = append(found, each)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		e.fail(found[1].at, "name the one that is writ: --webhook NAME", "there are several webhooks")
	case e.Webhook != "":
		e.fail(e.Authorization, "name an authorizer of type Webhook", "webhook %q not found", e.Webhook)
	default:
		e.fail(e.Authorization, "writ kubernetes config writes a file that does", "no authorizer is a webhook: the API server does not ask writ")
	}
	return nil
}
