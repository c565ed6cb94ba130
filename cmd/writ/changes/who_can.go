package changes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

const whoCanHelp = `who-can lists the users, groups and service accounts that may do something, each
tried alone, with the condition, the documents that grant it, and every denial.

RESOURCE is as in documents: pods, deployments.apps, pods/exec. Without an API
group it is of the core group; --api-group '*' leaves the group open. A request
is cluster-scoped unless -n names a namespace; -A asks about all of them and
cluster scope. Without NAME the name is open; --no-name asks about requests
without a name. What begins with a slash is a path, and so is an API version
such as v1.

What is not stated (the cluster, labels, changed fields, the pod and so on) is
open: the answer states what it takes. CAN is "always" if nothing but the
denials below the table can take the grant, and "sometimes" otherwise. Only what
holds now is listed, or what holds at the time of --at.

--potential adds who could get it: the groups that may request an escalation by
which they would be allowed, with who approves it, and the users of sessions
that begin later. Denials count there.`

const whoCanExamples = `  writ who-can delete pods -n shop --policies policies
  writ who-can get secrets -A --policies policies -o json
  writ who-can create pods/exec -n shop --cluster prod-eu-1 --policies policies
  writ who-can get secrets -A --potential --policies policies
  helm template chart | writ who-can get secrets -A --policies -
  writ who-can get /metrics --bundle bundle.tar.gz`

const whatCanHelp = `what-can lists the rules that allow a subject something, in the order of
evaluation, with the condition of each. The subject is a user and the groups
that are stated, and those that --implied-groups adds. A request is
cluster-scoped or a path unless -n names a namespace; -A asks about everything.
What is not stated is open, as in writ who-can.`

const whatCanExamples = `  writ what-can --user alice --group dev -n shop --policies policies
  writ what-can --group dev -A --policies policies -o json`

// questionOptions are the flags of who-can and what-can.
type questionOptions struct {
	documents documents.Flags
	policies  []string
	bundle    string
	format    string
	now, at   string

	namespace string
	all       bool

	scope tables.Scope

	labels, namespaceLabels []string
	fields                  []string
	pod                     string
	attributes              string

	labelSelector, fieldSelector string
}

func (o *questionOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.policies, "policies", nil, "policy `source` to answer by, as of writ check --help; repeatable")
	f.StringVar(&o.bundle, "bundle", "", "built `bundle` to answer by instead of --policies: a path or a URL")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "every namespace, and requests without one")
	f.StringVar(&o.labelSelector, "label-selector", "", "label `selector` of a list, as kubectl takes it: tier=gold,!old")
	f.StringVar(&o.fieldSelector, "field-selector", "", "field `selector` of a list: spec.nodeName=node-1")
	o.addFacts(cmd)
	cli.FormatFlag(cmd, &o.format, "table", "json")
	o.documents.Add(cmd)
	cli.MarkCommandLineOnly(cmd, "all-namespaces", "label-selector", "field-selector")
}

// addFacts adds the flags for the time of an answer and for facts of requests.
func (o *questionOptions) addFacts(cmd *cobra.Command) {
	f := cmd.Flags()
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) of the answer instead of the machine's")
	cli.TimeFlag(cmd, &o.at, "at", "the same as --now")
	f.StringVarP(&o.namespace, "namespace", "n", "", "`namespace` of the request")
	for i, key := range tables.ScopeKeys() {
		f.StringVar(o.scope.At(i), key, "", "`"+key+"` of the request")
	}
	f.StringArrayVar(&o.labels, "label", nil, "label of the object, `key=value`; may be repeated")
	f.StringArrayVar(&o.namespaceLabels, "namespace-label", nil, "label of the namespace, `key=value`; may be repeated")
	f.StringArrayVar(&o.fields, "field", nil, "`path` of a field that the request changes; may be repeated")
	f.StringVar(&o.pod, "pod", "", "`file` with the pod, as JSON")
	f.StringVar(&o.attributes, "attributes", "", "attributes of the request, as a `JSON` object")
	cli.MarkCommandLineOnly(cmd, tables.ScopeKeys("now", "at", "namespace", "label", "namespace-label", "field", "pod", "attributes")...)
}

// question returns the question of the flags that both commands have. It returns an
// error if a value is malformed.
func (o *questionOptions) question(cmd *cobra.Command) (*question.Question, error) {
	q := &question.Question{Stated: make(map[string]any)}
	for i, name := range tables.ScopeKeys() {
		if cmd.Flags().Changed(name) {
			q.Stated[name] = *o.scope.At(i)
		}
	}
	for name, pairs := range map[string][]string{"labels": o.labels, "namespaceLabels": o.namespaceLabels} {
		labels := make(map[string]any)
		for _, pair := range pairs {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return nil, cli.Usagef(cmd, "label %q must be key=value", pair)
			}
			labels[key] = value
		}
		if len(labels) > 0 {
			q.Stated[name] = labels
		}
	}
	if cmd.Flags().Changed("field") {
		q.Stated["fields"] = o.fields
	}
	if o.pod != "" {
		content, err := cli.ReadFile(o.pod)
		if err != nil {
			return nil, fmt.Errorf("--pod: %w", err)
		}
		if err := stateObject(q, "pod", content); err != nil {
			return nil, fmt.Errorf("--pod: %s: %w", o.pod, err)
		}
	}
	if o.attributes != "" {
		if err := stateObject(q, "attributes", []byte(o.attributes)); err != nil {
			return nil, fmt.Errorf("--attributes: %w", err)
		}
	}
	if err := o.selectors(q); err != nil {
		return nil, err
	}
	switch {
	case o.all && o.namespace != "":
		return nil, cli.Usagef(cmd, "-n and -A are mutually exclusive")
	case o.all:
		q.Open = append(q.Open, "namespace")
	case o.namespace != "":
		q.Stated["namespace"] = o.namespace
	}
	for _, fact := range question.Facts() {
		if _, stated := q.Stated[fact]; !stated {
			q.Open = append(q.Open, fact)
		}
	}
	return q, nil
}

// selectors states the selectors of the flags. What a list returns has no labels of its own,
// so that its labels are not open then.
func (o *questionOptions) selectors(q *question.Question) error {
	attributes, _ := q.Stated["attributes"].(map[string]any)
	for _, s := range []struct {
		flag, text, key string
		parse           func(string) ([]selector.Requirement, error)
	}{
		{"label-selector", o.labelSelector, selector.LabelKey, selector.ParseLabels},
		{"field-selector", o.fieldSelector, selector.FieldKey, selector.ParseFields},
	} {
		if s.text == "" {
			continue
		}
		requirements, err := s.parse(s.text)
		if err != nil {
			return fmt.Errorf("--%s: %w", s.flag, err)
		}
		if attributes == nil {
			attributes = make(map[string]any)
		}
		attributes[s.key] = selector.Written(requirements)
		q.Stated["attributes"] = attributes
		if _, stated := q.Stated["labels"]; !stated {
			q.Stated["labels"] = nil
		}
	}
	return nil
}

func stateObject(q *question.Question, name string, content []byte) error {
	var object map[string]any
	switch err := json.Unmarshal(content, &object); {
	case errors.As(err, new(*json.UnmarshalTypeError)) || err == nil && object == nil:
		return errors.New("must be a JSON object")
	case err != nil:
		return fmt.Errorf("must be a JSON object: %w", err)
	}
	q.Stated[name] = object
	return nil
}

// asker returns what answers questions about the policies.
func (o *questionOptions) asker(cmd *cobra.Command, s cli.Streams) (*question.Asker, error) {
	if o.now != "" && o.at != "" {
		return nil, cli.Usagef(cmd, "--at and --now are the same; give one of them")
	}
	now, err := cli.Clock(cmp.Or(o.now, o.at))
	if err != nil {
		return nil, err
	}
	at := now()
	b, err := o.documents.BundleFrom(cmd.Context(), s, o.policies, o.bundle)
	if err != nil {
		return nil, asUsage(err)
	}
	e, err := documents.Activate(cmd.Context(), b, engine.Options{Now: func() time.Time { return at }})
	if err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	statements := statement.Of(e)
	if statements == nil {
		return nil, errWithoutTables
	}
	return &question.Asker{World: statements, Judge: judge.Of(e), Revision: b.Manifest.Revision, Now: at}, nil
}

// warn writes what an answer leaves out.
func warn(s cli.Streams, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(s.Err, "warning: "+diag.Line(warning))
	}
}

// asUsage returns the error of documents that do not compile as one of usage: the question
// has no answer, which differs from an empty one.
func asUsage(err error) error {
	if found, ok := errors.AsType[*cli.Finding](err); ok {
		return errors.New(found.Text)
	}
	return err
}

type whoCanOptions struct {
	questionOptions
	subresource, apiGroup string
	noName, potential     bool
}

// NewWhoCan returns the command who-can.
func NewWhoCan(s cli.Streams) *cobra.Command {
	var o whoCanOptions
	cmd := &cobra.Command{
		Use:     "who-can VERB RESOURCE[.GROUP][/SUB] [NAME] | VERB /PATH --policies DIR",
		Short:   "List who may do something",
		Long:    whoCanHelp,
		Example: whoCanExamples,
		Args:    cli.Arguments(2, 3, "takes a verb, a resource or a path, and a name or none"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.subresource, "subresource", "", "`subresource` of the request")
	f.StringVar(&o.apiGroup, "api-group", "", "API `group` of the request; * leaves it open")
	f.BoolVar(&o.noName, "no-name", false, "ask about requests without a name")
	f.BoolVar(&o.potential, "potential", false, "add who could get it, through an escalation or a later session")
	o.add(cmd)
	cli.MarkCommandLineOnly(cmd, "subresource", "api-group", "no-name", "potential")
	return cmd
}

// whereElse names the flags for other scopes than that of the cluster.
const whereElse = "-A looks at every namespace, -n NAMESPACE at one"

func (o *whoCanOptions) run(cmd *cobra.Command, s cli.Streams, args []string) error {
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	if err := o.target(cmd, q, args); err != nil {
		return err
	}
	q.Potential = o.potential
	a, err := o.asker(cmd, s)
	if err != nil {
		return err
	}
	answer, err := a.WhoCan(cmd.Context(), q)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return diag.WriteIndented(s.Out, answer)
	}
	warn(s, answer.Warnings)
	resource, _ := q.Stated["resource"].(string)
	if o.namespace == "" && !o.all && vocabulary.IsNamespaced(resource) {
		fmt.Fprintln(s.Err, "note: only requests without a namespace were looked at: "+whereElse)
	}
	verbs := slices.Concat(vocabulary.URLVerbs, vocabulary.AnyVerbs)
	noteUnknown(s.Err, "verb", args[0], vocabulary.Near(args[0], vocabulary.AnyVerbs), verbs)
	known := vocabulary.Resources([]string{"*"})
	noteUnknown(s.Err, "resource", resource, vocabulary.NearResource(resource, known), known)
	return cli.Print(s.Out, answer.Table())
}

// noteUnknown writes a note about a word that no API server asks about, if another one is near.
func noteUnknown(w io.Writer, what, word, near string, known []string) {
	if near != "" && !slices.Contains(known, word) {
		fmt.Fprintf(w, "note: Kubernetes does not know the %s %q: did you mean %q?\n", what, word, near)
	}
}

// apiVersion matches the API versions. No resource has such a name, and rules about paths
// name them without a slash.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// target adds what the arguments name.
func (o *whoCanOptions) target(cmd *cobra.Command, q *question.Question, args []string) error {
	q.Stated["verb"] = args[0]
	if strings.HasPrefix(args[1], "/") || apiVersion.MatchString(args[1]) {
		if len(args) > 2 || o.namespace != "" || o.all {
			return cli.Usagef(cmd, "a path has neither a name nor a namespace")
		}
		q.Stated["path"] = args[1]
		q.Open = slices.DeleteFunc(q.Open, func(name string) bool { return name == "namespace" })
		return nil
	}
	resource, sub, _ := strings.Cut(args[1], "/")
	resource, group, _ := strings.Cut(resource, ".")
	if cmd.Flags().Changed("api-group") {
		if group != "" {
			return cli.Usagef(cmd, "RESOURCE.GROUP and --api-group are mutually exclusive")
		}
		group = o.apiGroup
	}
	if o.subresource != "" {
		if sub != "" {
			return cli.Usagef(cmd, "RESOURCE/SUB and --subresource are mutually exclusive")
		}
		sub = o.subresource
	}
	if resource == "" {
		return cli.Usagef(cmd, "name a resource")
	}
	if (o.labelSelector != "" || o.fieldSelector != "") && !selector.Counts(args[0], resource, sub) {
		return cli.Usagef(cmd, "servers apply selectors to list, watch and deletecollection of a resource alone")
	}
	q.Stated["resource"] = resource
	if sub != "" {
		q.Stated["subresource"] = sub
	}
	if group == "*" {
		q.Open = append(q.Open, "apiGroup")
	} else {
		q.Stated["apiGroup"] = group
	}
	switch {
	case len(args) == 3 && o.noName:
		return cli.Usagef(cmd, "NAME and --no-name are mutually exclusive")
	case len(args) == 3:
		q.Stated["name"] = args[2]
	case !o.noName:
		q.Open = append(q.Open, "name")
	}
	return nil
}

type whatCanOptions struct {
	questionOptions
	user   string
	groups []string
}

// NewWhatCan returns the command what-can.
func NewWhatCan(s cli.Streams) *cobra.Command {
	var o whatCanOptions
	cmd := &cobra.Command{
		Use:     "what-can [--user U] [--group G]... [-n NS | -A] --policies DIR",
		Short:   "List what a subject may do",
		Long:    whatCanHelp,
		Example: whatCanExamples,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd, s) },
	}
	f := cmd.Flags()
	f.StringVar(&o.user, "user", "", "`user` of the request")
	f.StringArrayVar(&o.groups, "group", nil, "`group` of the user; may be repeated")
	o.add(cmd)
	cli.MarkCommandLineOnly(cmd, "user", "group")
	return cmd
}

func (o *whatCanOptions) run(cmd *cobra.Command, s cli.Streams) error {
	if o.user == "" && len(o.groups) == 0 {
		return cli.Usagef(cmd, "name a subject: --user or --group")
	}
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	q.User, q.Groups = o.user, o.groups
	q.Open = append(q.Open, "verb", "apiGroup", "resource", "subresource", "name")
	if o.namespace == "" {
		q.Open = append(q.Open, "path")
	}
	a, err := o.asker(cmd, s)
	if err != nil {
		return err
	}
	if a.World.Access.ImpliesGroups() {
		q.Groups, _ = decision.AddImpliedGroups(q.User, q.Groups)
	}
	answer, err := a.WhatCan(cmd.Context(), q)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return diag.WriteIndented(s.Out, answer)
	}
	warn(s, answer.Warnings)
	if o.namespace == "" && !o.all {
		fmt.Fprintln(s.Err, "note: only cluster-scoped requests and paths were looked at: "+whereElse)
	}
	return cli.Print(s.Out, answer.Table())
}
