package vocabulary

import "slices"

// groupResources are resources of one API group.
type groupResources struct {
	group     string
	resources []string
}

// served are the resources that the API server of Kubernetes 1.36 serves, by API group.
var served = []groupResources{
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

// asked are resources that no API server serves today, and that requests name: what
// Kubernetes asks about itself, and what older versions served.
var asked = []groupResources{
	{"", []string{"users", "groups"}},
	{"auditregistration.k8s.io", []string{"auditsinks"}},
	{"authentication.k8s.io", []string{"users", "groups", "uids", "userextras", "serviceaccounts", "nodes"}},
	{"certificates.k8s.io", []string{"signers"}},
	{"extensions", []string{
		"daemonsets", "deployments", "ingresses", "networkpolicies", "podsecuritypolicies", "replicasets", "replicationcontrollers",
	}},
	{"imagepolicy.k8s.io", []string{"imagereviews"}},
	{"policy", []string{"podsecuritypolicies"}},
	{"resource.k8s.io", []string{"podschedulingcontexts", "resourceclaimparameters", "resourceclasses", "resourceclassparameters"}},
	{"scheduling.k8s.io", []string{"podgroups"}},
	{"settings.k8s.io", []string{"podpresets"}},
}

// origin are the kinds of Origin. Its reviews ask about every kind in the core group.
var origin = []string{
	"buildconfigs", "builds", "clusternetworks", "deploymentconfigrollbacks", "deploymentconfigs", "groups", "hostsubnets",
	"identities", "imagerepositories", "images", "imagestreamimages", "imagestreamimports", "imagestreammappings", "imagestreams",
	"imagestreamtags", "localresourceaccessreviews", "minions", "netnamespaces", "oauthaccesstokens", "oauthauthorizetokens",
	"oauthclientauthorizations", "oauthclients", "policies", "policybindings", "processedtemplates", "projectrequests", "projects",
	"resourceaccessreviews", "rolebindings", "roles", "routes", "securitycontextconstraints", "subjectaccessreviews",
	"templateconfigs", "templates", "useridentitymappings", "users",
}

// subresources are those of Kubernetes' resources, and those that the kubelet and the
// admission of owner references ask about.
var subresources = []string{
	"approval", "attach", "binding", "bindings", "checkpoint", "checkpoints", "configz", "driver", "ephemeralcontainers", "eviction", "exec",
	"finalize", "finalizers", "healthz", "instantiate", "log", "logs", "metrics", "pods", "portforward", "proxy", "resize", "rollback", "scale",
	"spec", "stats", "status", "statusz", "token",
}

// Served returns the resources that API servers serve in API groups; "*" stands for all
// groups.
func Served(groups []string) []string { return resourcesOf(served, groups) }

// Resources returns the resources that requests may have in API groups: those that are
// served, those that are only asked about, and in the core group the kinds of Origin. "*"
// stands for all groups.
func Resources(groups []string) []string {
	all := append(Served(groups), resourcesOf(asked, groups)...)
	if slices.Contains(groups, "*") || slices.Contains(groups, "") {
		all = append(all, origin...)
	}
	return all
}

func resourcesOf(table []groupResources, groups []string) []string {
	var all []string
	for _, of := range table {
		if slices.Contains(groups, "*") || slices.Contains(groups, of.group) {
			all = append(all, of.resources...)
		}
	}
	return all
}

// GroupOf returns the first API group that serves a resource, and whether one does.
func GroupOf(resource string) (group string, found bool) {
	for _, of := range served {
		if slices.Contains(of.resources, resource) {
			return of.group, true
		}
	}
	return "", false
}

// clusterScoped are the served resources without a namespace.
var clusterScoped = []string{
	"apiservices", "certificatesigningrequests", "clusterrolebindings", "clusterroles", "clustertrustbundles", "componentstatuses", "csidrivers",
	"csinodes", "customresourcedefinitions", "deviceclasses", "devicetaintrules", "flowschemas", "ingressclasses", "ipaddresses",
	"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "namespaces", "nodes", "persistentvolumes",
	"priorityclasses", "prioritylevelconfigurations", "resourceslices", "runtimeclasses", "selfsubjectaccessreviews", "selfsubjectreviews",
	"selfsubjectrulesreviews", "servicecidrs", "storageclasses", "storageversionmigrations", "storageversions", "subjectaccessreviews",
	"tokenreviews", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations", "volumeattachments",
	"volumeattributesclasses",
}

// IsNamespaced reports whether a resource is one that is served, of namespaces alone.
func IsNamespaced(resource string) bool {
	_, isServed := GroupOf(resource)
	return isServed && !slices.Contains(clusterScoped, resource)
}

// IsGroup reports whether an API group is Kubernetes' own, today or in an older version.
func IsGroup(group string) bool {
	isIt := func(of groupResources) bool { return of.group == group }
	return slices.ContainsFunc(served, isIt) || slices.ContainsFunc(asked, isIt)
}

// IsSubresource reports whether Kubernetes has a subresource.
func IsSubresource(name string) bool { return slices.Contains(subresources, name) }
