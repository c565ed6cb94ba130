package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/cluster"
)

// Versions of an API server, as the minor of 1.
const (
	// leastMinor reads AuthorizationConfigurations of v1beta1, stableMinor those of v1.
	leastMinor  = 30
	stableMinor = 32
)

// examineServer asks the API server whether it uses the file with a hash, and what it
// grants writ.
func (e *examination) examineServer(ctx context.Context, hash string) {
	passed := e.begin("API server")
	c, err := cluster.Connect(e.Kubeconfig, e.Context, e.Timeout)
	if err != nil {
		e.fail("", "name a kubeconfig of an administrator", "%v", err)
		return
	}
	at := strings.TrimRight(c.Server, "/")
	content, response, err := send(ctx, c, http.MethodGet, at+"/version", nil)
	var version struct{ Major, Minor, GitVersion string }
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(content, &version) != nil {
		e.fail(at, "check the kubeconfig", "the version of the API server cannot be read: %s", failure(response, err))
		return
	}
	switch minor, err := strconv.Atoi(strings.TrimSuffix(version.Minor, "+")); {
	case err != nil:
		e.warn(at, "use 1.32 or later", "the version %q of the API server is not known", version.GitVersion)
	case minor < leastMinor:
		e.fail(at, "use 1.32 or later", "API server %s reads no AuthorizationConfiguration", version.GitVersion)
	case minor < stableMinor:
		e.warn(at, "use 1.32 or later, or apiserver.config.k8s.io/v1beta1", "API server %s does not read apiserver.config.k8s.io/v1", version.GitVersion)
	}
	passed(at, "the API server has version %s", version.GitVersion)
	e.examineLoaded(ctx, c, at, hash)
	for _, user := range e.Identities {
		e.examineIdentity(ctx, c, at, user)
	}
}

// failure states why a request has no usable answer.
func failure(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return response.Status
}

// Metrics of an API server about its AuthorizationConfiguration.
var (
	loadedHash  = regexp.MustCompile(`(?m)^apiserver_authorization_config_controller_last_config_info\{[^}]*\bhash="([^"]*)"[^}]*\} 1$`)
	lastReloads = regexp.MustCompile(`(?m)^apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds\{[^}]*\bstatus="(success|failure)"[^}]*\} (\S+)$`)
)

// examineLoaded compares the file with the one that the API server has loaded.
func (e *examination) examineLoaded(ctx context.Context, c *cluster.Connection, at, hash string) {
	passed := e.begin("loaded")
	content, response, err := send(ctx, c, http.MethodGet, at+"/metrics", nil)
	if err != nil || response.StatusCode != http.StatusOK {
		e.warn(at, "use a kubeconfig of an administrator", "the metrics of the API server cannot be read: %s", failure(response, err))
		return
	}
	times := map[string]float64{}
	for _, found := range lastReloads.FindAllSubmatch(content, -1) {
		value, _ := strconv.ParseFloat(string(found[2]), 64)
		times[string(found[1])] = max(times[string(found[1])], value)
	}
	if times["failure"] > times["success"] {
		e.fail(at, "the log of the API server has the cause", "the API server could not load a change of the file, and uses the earlier one")
	}
	switch found := loadedHash.FindAllSubmatch(content, -1); {
	case len(found) == 0:
		e.warn(at, "start it with --authorization-config", "the API server does not state which AuthorizationConfiguration it uses")
	case string(found[len(found)-1][1]) != hash:
		e.fail(at, "the API server reads a change within a minute; check that --authorization-config names this file", "the API server uses another AuthorizationConfiguration than %s", e.Authorization)
	}
	passed(at, "the API server uses this file")
}

// examineIdentity checks that the API server lets writ read what policies are about.
func (e *examination) examineIdentity(ctx context.Context, c *cluster.Connection, at, user string) {
	passed := e.begin("identity")
	groups := []string{"system:authenticated"}
	if account, ok := strings.CutPrefix(user, serviceAccount); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	resources := append([]string{"pods", "namespaces"}, e.Objects...)
	for _, name := range resources {
		resource, group, _ := strings.Cut(name, ".")
		body := jsontext.Marshal(map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
			"spec": map[string]any{
				"user": user, "groups": groups,
				"resourceAttributes": map[string]any{"verb": "get", "group": group, "version": "v1", "resource": resource},
			},
		})
		content, response, err := send(ctx, c, http.MethodPost, at+reviewSuffix, body)
		var review struct{ Status reviewStatus }
		switch {
		case err != nil || response.StatusCode != http.StatusCreated || json.Unmarshal(content, &review) != nil:
			e.warn(at, "use a kubeconfig of an administrator",
				"whether %q may read %s is not known: %s", user, name, failure(response, err))
		case !review.Status.Allowed:
			e.fail(at, "kubectl apply -f identity.yaml, which writ kubernetes config writes; grant what facts read beside it",
				"%q may not get %s: denials that read them deny, and nothing that reads them allows", user, name)
		}
	}
	passed(at, "%q may get %s", user, strings.Join(resources, ", "))
}
