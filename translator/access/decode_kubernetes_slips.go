package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

var (
	// kubernetesVerbs are the verbs that Kubernetes asks for.
	kubernetesVerbs = []string{
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "impersonate",
		"bind", "escalate", "approve", "sign", "attest", "use", "redirect",
	}
	// urlVerbs are those of requests for paths.
	urlVerbs = append([]string{"post", "put", "head", "options"}, kubernetesVerbs...)
)

// warnOfSlips warns about verbs and resources that are spelt almost like one that
// Kubernetes has. It cannot know custom ones, so words that are far from all are fine.
func warnOfSlips(d *syntax.Decoder, r *KubernetesRule, verbs, resources []*syntax.Node) {
	known := kubernetesVerbs
	if len(r.NonResourceURLs) > 0 {
		known = urlVerbs
	}
	for _, n := range verbs {
		d.Examples(n, urlVerbs)
		if strings.Contains(n.Value, "*") || slices.Contains(known, n.Value) {
			continue
		}
		if near := nearWord(n.Value, known); near != "" {
			d.Warn(n, diag.UnknownVerb, "did you mean "+syntax.Quote(near)+"?", "Kubernetes does not know the verb %s", syntax.Quote(n.Value))
		}
	}
	builtin := builtinResources(r.APIGroups)
	for _, n := range resources {
		resource, _, _ := strings.Cut(n.Value, "/")
		if strings.Contains(resource, "*") || slices.Contains(builtin, resource) {
			continue
		}
		near := nearResource(resource, builtin)
		switch {
		case near != "":
			d.Warn(n, diag.UnknownResource, "did you mean "+syntax.Quote(near)+"?", "no API group of the rule has the resource %s in Kubernetes", syntax.Quote(resource))
		case resource != strings.ToLower(resource):
			d.Warn(n, diag.UnknownResource, "write the plural in lower case, as in the URL of the API",
				"resource %s has capitals: no request has it", syntax.Quote(resource))
		}
	}
}

// nearResource returns the resource whose singular the word is, or that is one edit away;
// "" if no resource is near.
func nearResource(word string, builtin []string) string {
	if plural := tables.Plural(strings.ToLower(word)); slices.Contains(builtin, plural) {
		return plural
	}
	return nearWord(word, builtin)
}

// nearWord returns the first of the words that differs from a text by at most one edit,
// letters compared without regard to case; "" if no word does.
func nearWord(text string, words []string) string {
	near := ""
	for _, word := range words {
		if difference := len(word) - len(text); difference < -1 || difference > 1 {
			continue
		}
		switch diag.Edits(text, word) {
		case 0:
			return word
		case 1:
			near = cmp.Or(near, word)
		}
	}
	return near
}

// builtinResources are the resources of Kubernetes in API groups; "*" stands for all.
func builtinResources(groups []string) []string {
	var all []string
	for _, of := range builtin {
		if slices.Contains(groups, "*") || slices.Contains(groups, of.group) {
			all = append(all, of.resources...)
		}
	}
	return all
}

// builtin are the resources that the API server of Kubernetes 1.36 serves, by API group.
var builtin = []struct {
	group     string
	resources []string
}{
	{"", []string{
		"bindings", "componentstatuses", "configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes",
		"persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates", "replicationcontrollers", "resourcequotas",
		"secrets", "serviceaccounts", "services",
	}},
	{"admissionregistration.k8s.io", []string{
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	}},
	{"apiextensions.k8s.io", []string{"customresourcedefinitions"}},
	{"apiregistration.k8s.io", []string{"apiservices"}},
	{"apps", []string{"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"}},
	{"authentication.k8s.io", []string{"selfsubjectreviews", "tokenreviews"}},
	{"authorization.k8s.io", []string{"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"}},
	{"autoscaling", []string{"horizontalpodautoscalers"}},
	{"batch", []string{"cronjobs", "jobs"}},
	{"certificates.k8s.io", []string{"certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"}},
	{"coordination.k8s.io", []string{"leasecandidates", "leases"}},
	{"discovery.k8s.io", []string{"endpointslices"}},
	{"events.k8s.io", []string{"events"}},
	{"flowcontrol.apiserver.k8s.io", []string{"flowschemas", "prioritylevelconfigurations"}},
	{"internal.apiserver.k8s.io", []string{"storageversions"}},
	{"networking.k8s.io", []string{"ingressclasses", "ingresses", "ipaddresses", "networkpolicies", "servicecidrs"}},
	{"node.k8s.io", []string{"runtimeclasses"}},
	{"policy", []string{"poddisruptionbudgets"}},
	{"rbac.authorization.k8s.io", []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}},
	{"resource.k8s.io", []string{"deviceclasses", "devicetaintrules", "resourceclaims", "resourceclaimtemplates", "resourceslices"}},
	{"scheduling.k8s.io", []string{"priorityclasses", "workloads"}},
	{"storage.k8s.io", []string{
		"csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments", "volumeattributesclasses",
	}},
	{"storagemigration.k8s.io", []string{"storageversionmigrations"}},
}
