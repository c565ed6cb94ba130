package api

import (
	"net/http"
	"strings"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/server/api/admin"
	"github.com/writ-policy/writ/server/api/authzen"
	"github.com/writ-policy/writ/server/api/dashboard"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/api/opadata"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/api/origin"
	"github.com/writ-policy/writ/server/api/questions"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/handler"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/translator/tables"
)

// route is an endpoint: methods, separated by spaces, of a pattern of gin.
type route struct {
	methods string
	pattern string
	// role is what the endpoint requires of its callers.
	role    auth.Role
	handler http.HandlerFunc
	// about describes the endpoint in the OpenAPI document.
	about openapi.Operation
	// form writes refusals; nil means exchange.Problem.
	form exchange.Form
	// quiet suppresses request logs for probe endpoints, where 503 is expected.
	quiet bool
}

// reviewRoutes are the endpoints of Kubernetes' reviews and those of Origin.
func reviewRoutes(k *kubernetes.Reviews, o *origin.Reviews) []route {
	const path = "/apis/authorization.k8s.io/"
	const name = openapi.Name("SubjectAccessReview")
	op := openapi.Operation{Tag: "Reviews", Refusal: "Status", IsOfRevision: true}
	about := op.For("Decides a SubjectAccessReview, as a webhook authorizer of Kubernetes.", name, name)
	named := op.For("Decides a SubjectAccessReview of a cluster.", name, name)
	const rulesName = openapi.Name("SelfSubjectRulesReview")
	rules := op.For("Lists what the caller may do in a namespace, as rules that hold for every request.", rulesName, rulesName)
	rulesNamed := op.For("Lists what the caller may do in a namespace of a cluster.", rulesName, rulesName)
	version := openapi.Parameter{Name: "version", Description: "v1, or v1beta1 and so on."}
	objects := openapi.Parameter{Name: "resource", Description: "roles, roleBindings or policies, in any case."}
	v1, v1beta1 := k.Handler(kubernetes.V1), k.Handler(kubernetes.V1beta1)
	return []route{
		{methods: "POST", pattern: path + "v1/subjectaccessreviews", role: auth.Decisions, handler: v1, form: kubernetes.Form, about: about},
		{methods: "POST", pattern: path + "v1beta1/subjectaccessreviews", role: auth.Decisions, handler: v1beta1, form: kubernetes.Form, about: about},
		{methods: "POST", pattern: "/clusters/:cluster" + path + "v1/subjectaccessreviews", role: auth.Decisions, handler: v1, form: kubernetes.Form, about: named},
		{methods: "POST", pattern: "/clusters/:cluster" + path + "v1beta1/subjectaccessreviews", role: auth.Decisions, handler: v1beta1, form: kubernetes.Form, about: named},
		{methods: "POST", pattern: path + "v1/selfsubjectrulesreviews", role: auth.Authenticated, handler: k.RulesReview(), form: exchange.Status, about: rules},
		{methods: "POST", pattern: "/clusters/:cluster" + path + "v1/selfsubjectrulesreviews", role: auth.Authenticated, handler: k.RulesReview(), form: exchange.Status, about: rulesNamed},
		{
			methods: "POST", pattern: origin.Path, role: auth.Decisions, handler: o.Handler(), form: exchange.Status,
			about: op.For("Decides an Origin review: may a subject do this, or who may.", openapi.Name("OriginReview"), openapi.Name("OriginReview")).With(version,
				openapi.Parameter{Name: "resource", Description: "subjectAccessReviews or resourceAccessReviews, singular or plural, in any case."}),
		},
		{
			methods: "GET HEAD", pattern: origin.Path, role: auth.Auditor, handler: o.Objects(), form: exchange.Status,
			about: op.For("Lists the Origin roles, role bindings or policies of a namespace.", nil, openapi.Name("OriginObjects")).With(version, objects),
		},
		{
			methods: "GET HEAD", pattern: origin.NamedPath, role: auth.Auditor, handler: o.Objects(), form: exchange.Status,
			about: op.For("Shows an Origin role, role binding or policy.", nil, openapi.Name("OriginObject")).With(version, objects),
		},
	}
}

// authzenRoutes are the endpoints of AuthZEN.
func authzenRoutes(z *authzen.API) []route {
	op := openapi.Operation{Tag: "AuthZEN", Refusal: openapi.Text, IsOfRevision: true}
	const searched, results = openapi.Name("AuthZENSearch"), openapi.Name("AuthZENResults")
	return []route{
		{
			methods: "POST", pattern: authzen.EvaluationPath, role: auth.Decisions, handler: z.Evaluation(), form: authzen.Form,
			about: op.For("Decides an evaluation.", openapi.Name("AuthZENEvaluation"), openapi.Name("AuthZENDecision")),
		},
		{
			methods: "POST", pattern: authzen.EvaluationsPath, role: auth.Decisions, handler: z.Evaluations(), form: authzen.Form,
			about: op.For("Decides several evaluations.", openapi.Name("AuthZENEvaluations"), openapi.Name("AuthZENDecisions")),
		},
		{
			methods: "POST", pattern: authzen.SearchPath + "subject", role: auth.Auditor, handler: z.SearchSubject(), form: authzen.Form,
			about: op.For("Lists the subjects of the inventory that may do something.", searched, results),
		},
		{
			methods: "POST", pattern: authzen.SearchPath + "resource", role: auth.Authenticated, handler: z.SearchResource(), form: authzen.Form,
			about: op.For("Lists the resources of the inventory to which a subject may do something; about others for auditors.", searched, results),
		},
		{
			methods: "POST", pattern: authzen.SearchPath + "action", role: auth.Authenticated, handler: z.SearchAction(), form: authzen.Form,
			about: op.For("Lists the verbs that a subject may use on a resource; about others for auditors.", searched, results),
		},
		{
			methods: "GET HEAD", pattern: authzen.MetadataPath, role: auth.Decisions, handler: z.Metadata, form: authzen.Form,
			about: openapi.Operation{Tag: "AuthZEN", Refusal: openapi.Text}.For("Names the endpoints of AuthZEN.", nil, openapi.Name("AuthZENMetadata")),
		},
	}
}

// dataRoutes are the endpoints of OPA's Data API and of its Compile API.
func dataRoutes(d *opadata.API) []route {
	flags := []openapi.Parameter{
		{Name: "path", Description: "The path of a rule or of data, such as writ/access/decision. It may have several parts."},
		{Name: "pretty", Description: "Indent the answer.", Schema: true},
		{Name: "metrics", Description: "Add the times of the evaluation.", Schema: true},
		{Name: "provenance", Description: "Add the version of OPA and the revision.", Schema: true},
		{Name: "explain", Description: "Add an explanation: notes, fails, full or debug. For auditors."},
	}
	op := openapi.Operation{Tag: "OPA", Refusal: "OPAError", IsOfRevision: true}
	const input, result = openapi.Name("OPAInput"), openapi.Name("OPAResult")
	post := op.For("Decides the input at an entrypoint, or evaluates another path for auditors.", input, result).With(flags...)
	get := op.For("Reads the value at a path.", nil, result).With(append(flags, openapi.Parameter{Name: "input", Description: "The input, as JSON."})...)
	v0 := op.For("Decides the body at an entrypoint; the answer is the value alone.", openapi.Name("Anything"), openapi.Name("Anything")).With(flags[:2]...)
	compile := op.For("Compiles a rule to the condition under which rows of a table are visible or allowed.", openapi.Name("OPACompileRequest"), openapi.Name("OPACompileResult")).With(flags[:3]...)
	compile.Media = opadata.CompileMedia()
	postAll, getAll := post.With(flags[1:]...), get.With(get.Parameters[1:]...)
	return []route{
		{methods: "GET", pattern: "/v1/data", role: auth.Auditor, handler: d.Get(), form: opadata.Form, about: getAll},
		{methods: "GET", pattern: "/v1/data/*path", role: auth.Decisions, handler: d.Get(), form: opadata.Form, about: get},
		{methods: "POST", pattern: "/v1/data", role: auth.Auditor, handler: d.Post(), form: opadata.Form, about: postAll},
		{methods: "POST", pattern: "/v1/data/*path", role: auth.Decisions, handler: d.Post(), form: opadata.Form, about: post},
		{methods: "POST", pattern: "/v1/compile/*path", role: auth.Authenticated, handler: d.Compile(), form: opadata.CompileForm, about: compile},
		{methods: "POST", pattern: "/v0/data/*path", role: auth.Decisions, handler: d.PostV0(), form: opadata.Form, about: v0},
		{
			methods: "GET HEAD", pattern: "/health", role: auth.Decisions, handler: d.Health, form: opadata.Form, quiet: true,
			about: openapi.Operation{Tag: "OPA", Refusal: "OPAError", Others: map[int]any{http.StatusInternalServerError: openapi.Name("OPAHealth")}}.For("Reports whether the server answers, and with parameters whether a revision is active.", nil, openapi.Name("OPAHealth")).With(
				openapi.Parameter{Name: "bundles", Description: "Fail unless a revision is active.", Schema: true},
				openapi.Parameter{Name: "plugins", Description: "Fail unless a revision is active.", Schema: true},
				openapi.Parameter{Name: "exclude-plugin", Description: "Leave out the plugin bundle."}),
		},
	}
}

// Paths of the debugging API.
const (
	dashboardPath = "/api/v1/auth/"
	typesPath     = "/api/v1/custom-types"
)

// dashboardRoutes are the endpoints of the debugging API of dashboards.
func dashboardRoutes(d *dashboard.Dashboard) []route {
	op := openapi.Operation{Tag: "Caller", Refusal: "DashboardError", IsOfRevision: true}
	return []route{
		{
			methods: "GET HEAD", pattern: dashboardPath + "policies", role: auth.Authenticated, handler: d.Policies(), form: dashboard.Form,
			about: op.For("Lists the visibility policies that name the caller.", nil, dashboard.PoliciesAnswer),
		},
		{
			methods: "GET HEAD", pattern: dashboardPath + "permissions", role: auth.Authenticated, handler: d.Permissions(), form: dashboard.Form,
			about: op.For("Lists the clusters that the caller may view.", nil, dashboard.PermissionsAnswer).With(
				openapi.Parameter{Name: "cluster", Description: "A cluster; it may be repeated. Left out, all that policies name."}),
		},
		{
			methods: "GET HEAD", pattern: typesPath, role: auth.Authenticated, handler: d.CustomTypes(), form: dashboard.Form,
			about: op.For("Lists the custom types that the caller can discover.", nil, dashboard.TypesAnswer).With(
				openapi.Parameter{Name: "include_source_details", Description: "Add the sources.", Schema: true}),
		},
		{
			methods: "POST", pattern: dashboardPath + "cache/clear", role: auth.Authenticated, handler: d.ClearCache, form: dashboard.Form,
			about: openapi.Operation{Tag: "Caller", Refusal: "DashboardError"}.For("Drops the cached authorizations of the caller.", nil, openapi.Name("ClearedCache")),
		},
	}
}

// questionRoutes are the endpoints for who can do something and what a subject can do.
func questionRoutes(q *questions.API) []route {
	op := openapi.Operation{Tag: "Questions", IsOfRevision: true}
	return []route{
		{
			methods: "POST", pattern: "/v1/filters/visibility", role: auth.Authenticated, handler: q.Filter(decision.Visibility),
			about: op.For("States under which condition rows of a table are visible; 422 if the target cannot say it exactly.", openapi.Name("FilterRequest"), filters.Answer{}),
		},
		{
			methods: "POST", pattern: "/v1/filters/access", role: auth.Authenticated, handler: q.Filter(decision.Access),
			about: op.For("States under which condition rows of a table are allowed; 422 if the target cannot say it exactly.", openapi.Name("FilterRequest"), filters.Answer{}),
		},
		{
			methods: "GET HEAD", pattern: "/v1/lists/:resource", role: auth.Authenticated, handler: q.Lists(),
			about: op.For("Lists the namespaces in which the caller may do something; about others for auditors.", nil, lists.Page{}).With(
				openapi.Parameter{Name: "resource", Description: "The resource, as deployments or deployments.apps."},
				openapi.Parameter{Name: "verb", Description: "The verb; list unless given."},
				openapi.Parameter{Name: "apiGroup", Description: "The API group; that of the resource, or the core group, unless given."},
				openapi.Parameter{Name: "subresource", Description: "The subresource, such as exec."},
				openapi.Parameter{Name: "cluster", Description: "The cluster; the default of the clusters file unless given."},
				openapi.Parameter{Name: "user", Description: "The user; the caller unless this or group is given."},
				openapi.Parameter{Name: "group", Description: "A group of the user. It may be repeated."},
				openapi.Parameter{Name: "labelSelector", Description: "A condition on the labels of namespaces."},
				openapi.Parameter{Name: "limit", Description: "The number of namespaces of a page, 1 to 5000; all unless given.", Schema: 0},
				openapi.Parameter{Name: "cursor", Description: "next of the page before, for 60 seconds; 410 after that."}),
		},
		{
			methods: "POST", pattern: "/v1/who-can", role: auth.Auditor, handler: q.WhoCan(),
			about: op.For("Lists who may do something.", openapi.Name("WhoCanRequest"), question.WhoCan{}).With(
				openapi.Parameter{Name: "limit", Description: "The number of subjects of a page.", Schema: 0},
				openapi.Parameter{Name: "after", Description: "next of the page before."}),
		},
		{
			methods: "POST", pattern: "/v1/what-can", role: auth.Authenticated, handler: q.WhatCan(),
			about: op.For("Lists what a subject may do; about others for auditors.", openapi.Name("WhatCanRequest"), question.WhatCan{}),
		},
		{
			methods: "POST", pattern: "/v1/verify", role: auth.Auditor, handler: q.Verify(),
			about: op.For("Verifies up to 20 assertions by the active revision.", openapi.Name("VerifyRequest"), verify.Report{}),
		},
		{
			methods: "GET HEAD", pattern: "/v1/assertions", role: auth.Auditor, handler: q.Assertions(),
			about: op.For("Shows the verdicts of the assertions of the active revision.", nil, openapi.Name("Assertions")),
		},
		{
			methods: "GET HEAD", pattern: "/v1/reach", role: auth.Auditor, handler: q.Reach(),
			about: op.For("Lists who can become whom, step by step.", nil, reach.Report{}).With(
				openapi.Parameter{Name: "from", Description: "A subject to begin with, as principals joined by commas. It may be repeated; every subject that documents name unless given."},
				openapi.Parameter{Name: "to", Description: "A target: a principal, cluster-admin, namespace-admin:NAMESPACE, ROLE:[NAMESPACE/]NAME or any. It may be repeated; the administrators unless given."},
				openapi.Parameter{Name: "class", Description: "The worst class of a path: certain, assumed or possible, which it is unless given."},
				openapi.Parameter{Name: "paths", Description: "The number of paths of each pair, 1 to 10.", Schema: 0},
				openapi.Parameter{Name: "namespace", Description: "The namespace whose administrators are targets; all unless given."},
				openapi.Parameter{Name: "cluster", Description: "The cluster of the requests; any unless given."}),
		},
		{
			methods: "POST", pattern: "/v1/escalations", role: auth.Auditor, handler: q.Escalations(),
			about: op.For("Lists who may request which group, and who may approve that.", openapi.Name("EscalationsRequest"), question.Escalations{}),
		},
	}
}

// consoleRoutes are the endpoints of what the web console shows.
func consoleRoutes(a *handler.API) []route {
	op := openapi.Operation{Tag: "Console"}
	p := func(name, description string) openapi.Parameter {
		return openapi.Parameter{Name: name, Description: description}
	}
	limit := openapi.Parameter{Name: "limit", Description: "The number of rows of a page, 50 unless given.", Schema: 0}
	after := p("after", "after of the page before.")
	matrix := op.For("Lists who can do something, or what a subject can do; about others for auditors.", nil, console.Matrix{}).With(
		p("of", "who or what."), p("resource", "The resource, of who."), p("apiGroup", "Its API group, * for all; unless given, that in which documents name the resource."), p("name", "Its name."), p("subject", "The subject, of what."),
		p("namespace", "The namespace; all of them and requests without one unless given."), p("facts", "What is known of the request, as a JSON object of its "+strings.Join(tables.ScopeKeys("labels", "namespaceLabels"), ", ")+", fields, pod and attributes; the rest is open."), p("search", "A part of the names of rows."), p("only", "1 leaves out subjects whom no rule allows something, and resources that no rule allows the subject something on."),
		limit, after, p("format", "json or csv; csv has all rows."))
	matrix.Media = []string{"text/csv"}
	subject := op.For("Lists what documents bind to a subject; to others for auditors.", nil, console.Subject{}).With(
		p("subject", "user:NAME, group:NAME or a name of either; the caller unless given."), limit, after)
	topology := op.For("Shows how gateways, listeners, routes and rules are connected.", nil, console.Topology{}).With(
		p("gateway", "NAMESPACE/NAME; all gateways unless given."), p("format", "json, dot or mermaid."))
	topology.Media = []string{"text/plain"}
	events := op.For("Streams what happens as server-sent events.", nil, nil).With(p("decisions", "1 for decisions as well."))
	events.Media = []string{"text/event-stream"}
	diff := op.For("Compares two revisions; 202 while the comparison is being made.", nil, console.Diff{}).With(
		p("from", "The first digits of a revision."), p("to", "The first digits of another one."))
	diff.Others = map[int]any{http.StatusAccepted: openapi.Name("Object")}
	propose := op.For("Compares what is served with the documents after a change, which is not served; 422 with diagnostics if the documents have errors.", console.Proposal{}, console.Diff{})
	risks := op.For("Lists dangerous grants, those that are not accepted and the most severe first; 202 while they are searched.", nil, console.Risks{}).With(
		p("code", "A code, such as risk-exec."), p("severity", "critical, high, medium or low."), p("subject", "A part of the name of a subject."), limit, after)
	risks.Others = diff.Others
	explain := op.For("Explains the decision on a request; about others for auditors.", openapi.Name("Object"), console.Explanation{}).With(
		p("point", "access, visibility or gateway."), p("at", "The time of the decision, as RFC 3339; now unless given."))
	list := func(pattern string, about openapi.Operation, handler http.HandlerFunc) route {
		return route{methods: "GET", pattern: pattern, role: auth.Auditor, handler: a.Named(handler), about: about}
	}
	return []route{
		{methods: "POST", pattern: "/v1/explanations/:point", role: auth.Authenticated, handler: a.Named(a.Explanation()), about: explain},
		list("/v1/events", events, a.Events),
		list("/v1/rates", op.For("Shows how many decisions were made in the last 15 minutes.", nil, console.Rates{}), a.Rates()),
		list("/v1/names", op.For("Lists names that documents have in a field of requests.", nil, console.Names{}).With(
			p("field", "user, groups, subject, verb, resource, apiGroup, namespace, cluster, type or role."), p("prefix", "What names begin with, or contain.")), a.Names()),
		{methods: "GET", pattern: "/v1/matrix", role: auth.Authenticated, handler: a.Named(a.Matrix()), about: matrix},
		{methods: "GET", pattern: "/v1/subject", role: auth.Authenticated, handler: a.Named(a.Subject()), about: subject},
		list("/v1/role", op.For("Shows a role with its rules and the subjects of its bindings.", nil, console.Role{}).With(
			p("family", "kubernetes or origin; the one that has the role unless given."), p("namespace", "The namespace of the role; empty for a ClusterRole."), p("name", "The name of the role."), limit, after), a.Role()),
		list("/v1/documents", op.For("Lists the files of documents, and the mistakes in them.", nil, console.Files{}), a.Files()),
		list("/v1/documents/*path", op.For("Shows a file of documents with the counts of its rules.", nil, console.Document{}).With(
			p("path", "The exact name of the file."), openapi.Parameter{Name: "line", Description: "A line that is shown.", Schema: 0}), a.Document()),
		list("/v1/rules", op.For("Lists rules by how often they decided.", nil, console.Rules{}).With(p("never", "1 for rules that never decided."), limit, after), a.Rules()),
		list("/v1/topology", topology, a.Topology()),
		list("/v1/revisions", op.For("Lists the revisions that can be compared.", nil, console.Revisions{}), a.Revisions()),
		list("/v1/diff", diff, a.Diff()),
		{methods: "POST", pattern: "/v1/diff", role: auth.Auditor, handler: a.Named(a.Propose()), about: propose},
		list("/v1/risks", risks, a.Risks()),
		list("/v1/sessions", op.For("Lists sessions, those that hold first, and the escalations by which they are requested.", nil, console.Sessions{}).With(
			p("user", "A part of the name of a holder."), p("cluster", "The name of a cluster."), p("state", "holds, begins, ended or refused."), limit, after), a.Sessions()),
		list("/v1/log", op.For("Lists recorded decisions, newest first.", nil, console.Log{}).With(
			p("outcome", "allow, deny, none or error."), p("user", "A part of the user."), p("resource", "A part of the resource or type."),
			p("namespace", "A part of the namespace."), p("point", "The point."), p("endpoint", "A part of the endpoint."),
			openapi.Parameter{Name: "before", Description: "The id of a decision; older ones are listed.", Schema: 0}, limit, after), a.Log()),
	}
}

// adminRoutes are the endpoints of operators.
func adminRoutes(a *admin.Admin) []route {
	op := openapi.Operation{Tag: "Operators"}
	return []route{
		{
			methods: "GET", pattern: "/v1/revisions", role: auth.Operator, handler: a.Revisions,
			about: op.For("Lists the revisions that are kept.", nil, openapi.Name("RevisionList")),
		},
		{
			methods: "POST", pattern: "/v1/rollback", role: auth.Operator, handler: a.Rollback,
			about: op.For("Serves a kept revision and stays with it.", openapi.Name("RevisionName"), openapi.Name("Pinned")),
		},
		{
			methods: "POST", pattern: "/v1/release", role: auth.Operator, handler: a.Release,
			about: op.For("Ends a rollback.", nil, openapi.Name("Pinned")),
		},
		{
			methods: "POST", pattern: "/v1/accept", role: auth.Operator, handler: a.Accept,
			about: op.For("Lets a commit be served that does not descend from the active one.", openapi.Name("CommitName"), openapi.Name("Accepted")),
		},
	}
}
