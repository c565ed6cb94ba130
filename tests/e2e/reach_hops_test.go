package e2e

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// walk is one path on its way: who it is now, and what it has written.
type walk struct {
	*reached
	prefix  string
	config  *rest.Config
	mode    string // in which it acts
	written []replaced
	made    int
}

// replaced is an object that a path wrote, and what was there, nil for nothing.
type replaced struct{ is, was map[string]any }

// follow carries out each hop with what the one before led to.
func (w *walk) follow(t *testing.T, hops []*hop) error {
	for _, h := range hops {
		do := certain[h.Edge]
		if do == nil {
			return fmt.Errorf("no test carries out %s", h.Edge)
		}
		w.hops[h.Edge]++
		if err := w.retried(func() error { return do(w, t, h) }); err != nil {
			return fmt.Errorf("%s %q: %w", h.Edge, h.Text, err)
		}
	}
	return nil
}

// retried tries again for a while what is forbidden: an authorizer learns about changed roles
// and bindings by a watch.
func (w *walk) retried(do func() error) error {
	err := do()
	for end := time.Now().Add(3 * time.Second); err != nil && time.Now().Before(end); err = do() {
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func (w *walk) objectsAs(t *testing.T) *dynamic.DynamicClient {
	t.Helper()
	client, err := dynamic.NewForConfig(w.config)
	check(t, err)
	return client
}

func (w *walk) clientsAs(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(w.config)
	check(t, err)
	return clients
}

// becomesAccount goes on as the account that a pod or a Secret of it gives a token of.
func (w *walk) becomesAccount(t *testing.T, h *hop) error {
	namespace, name, ok := accountOf(h.Becomes.User)
	if !ok {
		return fmt.Errorf("%q is not an account", h.Becomes.User)
	}
	w.config, w.mode = w.withToken(w.token(t, namespace, name)), ""
	return nil
}

// podOf is a pod that runs as the account of a hop.
func podOf(h *hop) map[string]any {
	_, name, _ := accountOf(h.Becomes.User)
	return map[string]any{"serviceAccountName": name, "restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "i"}}}
}

// newName is the name of the next object.
func (w *walk) newName() string {
	w.made++
	return fmt.Sprintf("p%d-%d", w.paths, w.made)
}

func (w *walk) createPod(t *testing.T, h *hop) error {
	r := h.Requests[0]
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": w.newName()}, "spec": podOf(h)}}
	if _, err := w.objectsAs(t).Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(r.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	return w.becomesAccount(t, h)
}

// createWorkload creates what a controller makes pods of.
func (w *walk) createWorkload(t *testing.T, h *hop) error {
	r := h.Requests[0]
	kinds := map[string]string{"deployments": "Deployment", "daemonsets": "DaemonSet", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "jobs": "Job", "cronjobs": "CronJob", "replicationcontrollers": "ReplicationController"}
	labels := map[string]any{"app": "x"}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podOf(h)}
	spec := map[string]any{"template": template}
	switch r.Resource {
	case "jobs":
	case "cronjobs":
		spec = map[string]any{"schedule": "0 0 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
	case "replicationcontrollers":
		delete(template["spec"].(map[string]any), "restartPolicy")
		spec["selector"] = labels
	default:
		delete(template["spec"].(map[string]any), "restartPolicy")
		spec["selector"], spec["serviceName"] = map[string]any{"matchLabels": labels}, "x"
	}
	if r.Resource != "statefulsets" {
		delete(spec, "serviceName")
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": strings.TrimPrefix(r.APIGroup+"/v1", "/"), "kind": kinds[r.Resource], "metadata": map[string]any{"name": w.newName()}, "spec": spec}}
	resource := schema.GroupVersionResource{Group: r.APIGroup, Version: "v1", Resource: r.Resource}
	if _, err := w.objectsAs(t).Resource(resource).Namespace(r.Namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		return err
	}
	return w.becomesAccount(t, h)
}

func (w *walk) requestToken(t *testing.T, h *hop) error {
	r := h.Requests[0]
	request, err := w.clientsAs(t).CoreV1().ServiceAccounts(r.Namespace).CreateToken(t.Context(), r.Name, new(authenticationv1.TokenRequest), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.config, w.mode = w.withToken(request.Status.Token), ""
	return nil
}

// mint creates a token Secret, which the control plane fills, and reads it.
func (w *walk) mint(t *testing.T, h *hop) error {
	namespace, name, _ := accountOf(h.Becomes.User)
	secrets := w.clientsAs(t).CoreV1().Secrets(namespace)
	secret, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: w.newName(), Annotations: map[string]string{corev1.ServiceAccountNameKey: name}}, Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(w.token(t, namespace, name))}
	_, err = w.clients.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	check(t, err)
	var read *corev1.Secret
	switch h.Requests[1].Verb {
	case "get":
		read, err = secrets.Get(t.Context(), secret.Name, metav1.GetOptions{})
	case "list":
		list, failed := secrets.List(t.Context(), metav1.ListOptions{})
		if err = failed; err == nil {
			at := slices.IndexFunc(list.Items, func(s corev1.Secret) bool { return s.Name == secret.Name })
			read = &list.Items[at]
		}
	case "watch":
		stream, failed := secrets.Watch(t.Context(), metav1.ListOptions{})
		if err = failed; err == nil {
			defer stream.Stop()
			for event := range stream.ResultChan() {
				if s, ok := event.Object.(*corev1.Secret); ok && s.Name == secret.Name {
					read = s
					break
				}
			}
		}
	}
	if err != nil {
		return err
	}
	w.config, w.mode = w.withToken(string(read.Data[corev1.ServiceAccountTokenKey])), ""
	return nil
}

// impersonate states another identity from now on; the next request, or that of who it is,
// shows whether it may.
func (w *walk) impersonate(t *testing.T, h *hop) error {
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: h.Becomes.User}
	for _, r := range h.Requests {
		if r.Resource == "groups" {
			config.Impersonate.Groups = append(config.Impersonate.Groups, r.Name)
		}
	}
	mode := h.Becomes.Acting.Mode
	if mode == "legacy" {
		clients, err := kubernetes.NewForConfig(config)
		check(t, err)
		if _, err := clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), new(authenticationv1.SelfSubjectReview), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	w.config, w.mode = config, mode
	return nil
}

// certificate asks for a certificate, and approves it; the test signs it as the controller does.
func (w *walk) certificate(t *testing.T, h *hop) error {
	key, user := newKey(t), h.Becomes.User
	if user == "" {
		user = "member"
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: stated(h.Becomes.Groups)}}, key)
	check(t, err)
	csrs := w.clientsAs(t).CertificatesV1().CertificateSigningRequests()
	signer := ""
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}
	for _, r := range h.Requests {
		if r.Resource == "signers" {
			signer = r.Name
		}
	}
	csr, err := csrs.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: w.newName()},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: encoded("CERTIFICATE REQUEST", der), SignerName: signer, Usages: usages},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"})
	if verb := h.Requests[1].Verb; verb == "patch" {
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": csr.Status.Conditions}})
		check(t, err)
		_, err = csrs.Patch(t.Context(), csr.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "approval")
		if err != nil {
			return err
		}
	} else if _, err = csrs.UpdateApproval(t.Context(), csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		return err
	}
	w.config, w.mode = w.withCertificate(t, user, h.Becomes.Groups, key), ""
	return nil
}

// writeDocument writes a role or a binding by the first request of the hop.
func (w *walk) writeDocument(t *testing.T, h *hop) error {
	if len(h.Adds) != 1 {
		return fmt.Errorf("%d documents are written", len(h.Adds))
	}
	r := h.Requests[0]
	object := &unstructured.Unstructured{Object: h.Adds[0]}
	resource := schema.GroupVersionResource{Group: r.APIGroup, Version: "v1", Resource: r.Resource}
	objects := w.objectsAs(t).Resource(resource).Namespace(r.Namespace)
	before := replaced{is: h.Adds[0]}
	there, err := w.objects.Resource(resource).Namespace(r.Namespace).Get(t.Context(), object.GetName(), metav1.GetOptions{})
	if err == nil {
		there.SetResourceVersion("")
		there.SetUID("")
		before.was = there.Object
	}
	switch r.Verb {
	case "create":
		_, err = objects.Create(t.Context(), object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = nil // by an earlier try of the same hop
		}
	case "update":
		_, err = objects.Update(t.Context(), object, metav1.UpdateOptions{})
	case "patch":
		text, failed := json.Marshal(object.Object)
		check(t, failed)
		_, err = objects.Patch(t.Context(), object.GetName(), types.MergePatchType, text, metav1.PatchOptions{})
	default:
		err = errors.New("unknown verb " + r.Verb)
	}
	if err == nil {
		w.written = append(w.written, before)
	}
	return err
}
