package aggregated

import (
	"net/http"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sversion "k8s.io/apimachinery/pkg/version"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
)

// The paths of the API and of what describes it.
const (
	GroupsPath   = "/apis"
	GroupPath    = GroupsPath + "/" + group
	VersionPath  = GroupPath + "/" + version
	ResourcePath = VersionPath + "/" + plural
	schemaPath   = "/openapi/v3" + VersionPath
)

// Documents returns what describes the API, by path.
func (a *API) Documents() map[string]http.HandlerFunc {
	own := metav1.APIGroup{
		Name: group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: ownVersion, Version: version}},
		PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: ownVersion, Version: version},
	}
	alone := own
	alone.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	return map[string]http.HandlerFunc{
		GroupsPath: a.document(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{own}}),
		GroupPath:  a.document(alone),
		VersionPath: a.document(metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: ownVersion,
			APIResources: []metav1.APIResource{{
				Name: plural, SingularName: "accessiblenamespace", Kind: kind, ShortNames: []string{"an"}, Verbs: metav1.Verbs{"get", "list", "watch"},
			}},
		}),
		"/openapi/v2": a.document(openAPI2()),
		"/openapi/v3": a.document(map[string]any{"paths": map[string]any{
			VersionPath[1:]: map[string]any{"serverRelativeURL": schemaPath + "?hash=" + schemaHash()},
		}}),
		schemaPath: a.document(openAPI3()),
		"/version": a.document(k8sversion.Info{GitVersion: a.Version, GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH}),
	}
}

// document returns the handler of something that does not change.
func (a *API) document(object any) http.HandlerFunc {
	text := jsontext.Marshal(object)
	return func(w http.ResponseWriter, r *http.Request) {
		if !acceptsJSON(r) {
			a.Service.Refuse(w, exchange.Status, notAcceptable)
			return
		}
		exchange.Write(w, http.StatusOK, exchange.JSON, text)
	}
}
