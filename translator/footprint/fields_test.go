package footprint

import (
	"reflect"
	"slices"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// The fields of tables that a footprint takes into account. A field that is added to a
// table fails the test: a request attribute that it reads must become part of the
// footprint and of the projection, because requests that differ in it would share a
// decision.
var fields = map[reflect.Type][]string{
	reflect.TypeFor[tables.Access]():          {"Master", "Cluster", "ImpliedGroups", "Roles", "Bindings", "Subjects", "Extensions", "Expressions", "ReadsClock"},
	reflect.TypeFor[tables.Role]():            {"Family", "Kind", "Namespace", "Name", "Kubernetes", "Origin", "Source"},
	reflect.TypeFor[tables.KubernetesRule]():  {"Rule", "Source", "KubernetesLists"},
	reflect.TypeFor[tables.KubernetesLists](): {"Verbs", "Groups", "Resources", "Names", "Paths"},
	reflect.TypeFor[tables.OriginRule](): {
		"Rule", "Source", "Deny", "Verbs", "NotVerbs", "Kinds", "NotKinds", "Restrictions",
	},
	reflect.TypeFor[tables.Restrictions](): {"Fields", "Labels", "Select", "SameMinion", "Expression", "Extension", "Params"},
	reflect.TypeFor[tables.Binding]():      {"Family", "APIVersion", "Kind", "Namespace", "Name", "Role", "Cluster", "Stock", "Source", "Dates"},
	reflect.TypeFor[tables.Deny]():         {"Policies", "Escalations", "Owned", "Resources"},
	reflect.TypeFor[tables.DenyPolicy](): {
		"Name", "Precedence", "Source", "Clusters", "Tenants", "Sessions", "EscalationRefs", "ReferredBy", "Rules",
		"Impersonation", "Pod", "Dates",
	},
	// Keys of requests have the whole request of a user with a session.
	reflect.TypeFor[tables.Sessions](): {"Sessions", "Debug", "Holders"},
	reflect.TypeFor[tables.Session](): {
		"Namespace", "Name", "Source", "Cluster", "User", "Groups", "Issuer", "AnyIssuer", "Unreadable", "Refused", "NoEnd",
		"Dates", "Never", "Owner", "Policies",
	},
	reflect.TypeFor[tables.DebugSession]():         {"Namespace", "Name", "Source", "Cluster", "Dates", "Pods", "Subresources", "Participants"},
	reflect.TypeFor[tables.Held]():                 {"Sessions", "Debug"},
	reflect.TypeFor[tables.Participant]():          {"User", "Role", "Index"},
	reflect.TypeFor[tables.PodName]():              {"Namespace", "Name"},
	reflect.TypeFor[tables.DenyRule]():             {"Rule", "Source", "Actions", "Resources", "Namespaces", "Names", "NeedsName"},
	reflect.TypeFor[tables.DenyAction]():           {"Verbs", "VerbPrefix", "Groups"},
	reflect.TypeFor[tables.DenyResource]():         {"Resources", "Subresources", "NeedsSubresource"},
	reflect.TypeFor[tables.ImpersonationRule]():    {"Rule", "Source", "Reason", "Identity", "Action"},
	reflect.TypeFor[tables.ImpersonatedIdentity](): {"Verbs", "Resources", "Names", "ExtraKeys", "Namespaces"},
	reflect.TypeFor[tables.ImpersonatedAction]():   {"Modes", "Verbs", "Resources", "Groups"},
	reflect.TypeFor[tables.NamespaceFilter]():      {"Patterns", "Terms"},
	reflect.TypeFor[tables.LabelRequirement]():     {"Key", "Operator", "Values"},
	reflect.TypeFor[tables.PodSecurity](): {
		"Source", "Subresources", "Factors", "Thresholds", "BlockFactors", "ExemptNamespaces", "ExemptLabels", "FailOpen",
	},
	reflect.TypeFor[tables.Visibility](): {"Policies", "Allows", "Denies", "Sources", "Types"},
	reflect.TypeFor[tables.VisibilityPolicy](): {
		"Namespace", "Name", "Source", "Module", "Priority", "Deny", "Disabled", "Malformed", "Applies", "NotBefore", "NotAfter",
		"NotBeforeText", "NotAfterText", "Users", "ServiceAccounts", "Groups", "Default", "ByDefault", "Rules", "Listed",
	},
	reflect.TypeFor[tables.VisibilityRule]():  {"Source", "Names", "Pattern", "Labels", "Permissions", "Entries"},
	reflect.TypeFor[tables.Gateway]():         {"Gateways", "Routes", "Paths", "Effective", "Policies"},
	reflect.TypeFor[tables.GatewayListener](): {"Name", "Source", "Hostname", "Port", "Protocol", "Effective"},
	reflect.TypeFor[tables.GatewayRoute]():    {"Kind", "Namespace", "Name", "Hostnames", "Rules", "Created", "Cluster"},
	reflect.TypeFor[tables.GatewayMatch]():    {"GRPC", "PathType", "Path", "Method", "Headers", "Query"},
	reflect.TypeFor[tables.GatewaySteps](): {
		"ID", "Policies", "Patterns", "When", "Authenticates", "Anonymous", "Authentication", "Unauthenticated", "Unauthorized",
		"Authorization", "Items",
	},
	reflect.TypeFor[tables.GatewayRule](): {
		"When", "Priority", "Pattern", "Authentication", "Metadata", "Authorization", "Denial", "Item",
	},
	reflect.TypeFor[tables.GatewayAuthentication](): {"Anonymous"},
	reflect.TypeFor[tables.GatewayMetadata]():       {},
	reflect.TypeFor[tables.GatewayAuthorization]():  {"Patterns", "Rego", "Review"},
	reflect.TypeFor[tables.AccessReview]():          {"User", "Groups", "AuthorizationGroups", "Resource"},
	reflect.TypeFor[tables.GatewayDenial]():         {"Code", "Message", "Body", "Headers"},
	reflect.TypeFor[tables.GatewayItem]():           {"Header", "Key", "Plain", "Properties"},
	reflect.TypeFor[tables.RequestCondition]():      {"Comparison", "Predicate", "Pattern", "All", "Any"},
	reflect.TypeFor[tables.RequestValue]():          {"Template", "Expression", "Value"},
	reflect.TypeFor[tables.Escalation](): {
		"Name", "Source", "Clusters", "Groups", "ExemptFactors", "MaxAllowedScore", "NamespaceScope",
	},
}

func TestEveryFieldIsKnown(t *testing.T) {
	for table, want := range fields {
		var got []string
		for field := range table.Fields() {
			got = append(got, field.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the fields %q, want %q", table, got, want)
		}
	}
}
