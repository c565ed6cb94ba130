package change

import "strings"

// request is a request under construction. A nil map or list is unknown.
type request struct {
	user   string
	groups []string

	verb, group, resource, subresource, path string
	name, namespace                          string
	namespaceLabels                          map[string]string
	cluster                                  string
	clusterLabels                            map[string]string
	tenant, session, escalation              string
	labels                                   map[string]string
	fields                                   []string
	minion, podMinion                        string

	// facts are members that no statement reads: pod, type, items and the like.
	facts map[string]any
}

// stage is a part of a request that is chosen at once. A condition on a part may depend
// on earlier parts.
type stage = int

const (
	stageTarget    stage = iota // resource and subresource, or path
	stageVerb                   // verb
	stageGroup                  // API group
	stageName                   // name
	stageNamespace              // namespace and its labels
	stageCluster                // cluster and its labels
	stageTenant                 // tenant
	stageSession                // session and escalation
	stageLabels                 // labels
	stageFields                 // fields
	stageNodes                  // the nodes of sameMinionRestriction
	stages
)

// object returns the request as JSON members for a point.
func (r *request) object(point string) map[string]any {
	o := map[string]any{"user": r.user}
	for key, value := range r.facts {
		o[key] = value
	}
	if len(r.groups) > 0 {
		o["groups"] = r.groups
	}
	if point == PointVisibility {
		if r.cluster != "" {
			labels := r.clusterLabels
			if labels == nil {
				labels = map[string]string{}
			}
			o["cluster"] = map[string]any{"name": r.cluster, "labels": labels}
		}
		return o
	}
	for key, value := range map[string]string{
		"verb": r.verb, "apiGroup": r.group, "resource": r.resource, "subresource": r.subresource, "path": r.path,
		"name": r.name, "namespace": r.namespace, "cluster": r.cluster, "tenant": r.tenant, "session": r.session,
		"escalation": r.escalation,
	} {
		if value != "" {
			o[key] = value
		}
	}
	if r.namespaceLabels != nil {
		o["namespaceLabels"] = r.namespaceLabels
	}
	if r.labels != nil {
		o["labels"] = r.labels
	}
	if r.fields != nil {
		o["fields"] = r.fields
	}
	attributes := make(map[string]any)
	if r.minion != "" {
		attributes["minion"] = r.minion
	}
	if r.podMinion != "" {
		attributes["podMinion"] = r.podMinion
	}
	if _, given := o["attributes"]; !given && len(attributes) > 0 {
		o["attributes"] = attributes
	}
	return o
}

// requestOf returns a request that holds some principals, unnamed if there are none. It
// returns false if no request holds all of them: it has one user, and at the point
// visibility a service account.
func requestOf(point string, principals []string) (r request, ok bool) {
	users := 0
	for _, p := range principals {
		user, isUser := strings.CutPrefix(p, userPrefix)
		account, isAccount := strings.CutPrefix(user, accountPrefix)
		namespace, name, isComplete := strings.Cut(account, ":")
		switch {
		case !isUser:
			r.groups = append(r.groups, strings.TrimPrefix(p, groupPrefix))
		case isAccount && isComplete && name != "" && r.facts == nil && point == PointVisibility:
			r.facts = map[string]any{"serviceAccount": map[string]any{"namespace": namespace, "name": name}}
		default:
			r.user = user
			users++
		}
	}
	if r.user == "" && (len(r.groups) == 0 || point == PointVisibility) && r.facts == nil {
		r.user = unnamed // groups alone are not a principal there
	}
	return r, users <= 1
}
