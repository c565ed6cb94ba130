package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/writ-policy/writ/tests/e2e/controlplane"
)

// finding is a line of the doctor that is not ok.
var finding = regexp.MustCompile(`(?m)^(error|warning) `)

// page is a page of the documentation whose commands run as they are written, but for paths
// of the machine, which are below root, and the address of writ.
type page struct {
	root       string // the working directory; /etc and /root are below it
	kubeconfig string
	edits      []string
	text       string
}

var block = regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```")

func readPage(t *testing.T, root, name string, edits ...string) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	check(t, err)
	edits = append(edits, "/etc/kubernetes", root+"/etc/kubernetes", "/root/", root+"/root/")
	return &page{root, filepath.Join(root, "etc/kubernetes/admin.conf"), edits, string(text)}
}

// block returns the only block of a language that has some text.
func (p *page) block(t *testing.T, language, with string) string {
	t.Helper()
	var found []string
	for _, b := range block.FindAllStringSubmatch(p.text, -1) {
		if b[1] == language && strings.Contains(b[2], with) {
			found = append(found, b[2])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks have %q", len(found), with)
	}
	return strings.NewReplacer(p.edits...).Replace(found[0])
}

// shell runs the block of commands that has some text, with the program writ and kubectl on
// the path, and returns what it prints.
func (p *page) shell(t *testing.T, with string) string {
	t.Helper()
	out, err := p.try(t, p.block(t, "sh", with))
	if err != nil {
		t.Fatalf("%v, in %s:\n%s", err, with, out)
	}
	return out
}

func (p *page) try(t *testing.T, script string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-c", "set -eo pipefail\n"+script)
	command.Dir = p.root
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+filepath.Dir(*writ)+":"+*binaries+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	return string(out), err
}

// exitStatus is that of a command that ended with err.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// TestFromARepositoryToEnforcement follows the pages from a repository to an API server that
// asks writ, and back.
func TestFromARepositoryToEnforcement(t *testing.T) {
	c := startControlPlane(t)
	root := t.TempDir()
	for _, folder := range []string{"etc/kubernetes/manifests", "root"} {
		check(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
	}
	check(t, os.CopyFS(filepath.Join(root, "policies"), os.DirFS("../../examples/policies")))
	check(t, os.WriteFile(filepath.Join(root, "etc/kubernetes/admin.conf"), c.Kubeconfig(c.Address, "admin"), 0o600))
	c.grantEdit(t, "dave")
	t.Run("enforcement.md", func(t *testing.T) { enforcementPage(t, c, root) })
	t.Run("webhook.md", func(t *testing.T) { webhookPage(t, c, root) })
}

// enforcementPage records requests of an API server that RBAC alone authorizes.
func enforcementPage(t *testing.T, c *controlPlane, root string) {
	p := readPage(t, root, "enforcement.md")
	log := filepath.Join(root, "audit.log")
	policy := filepath.Join(root, "audit.yaml")
	check(t, os.WriteFile(policy, []byte(p.block(t, "yaml", "kind: Policy")), 0o600))
	c.restart(t, append(slices.Clone(c.Flags), "--audit-policy-file="+policy, "--audit-log-path="+log))
	wantCode(t, "RBAC allows", list(c.as(t, "dave")), http.StatusOK)
	wantCode(t, "RBAC does not allow", list(c.as(t, "ann")), http.StatusForbidden)
	p.shell(t, "writ check")
	if out := p.shell(t, "writ who-can"); !strings.Contains(out, "group:cluster-admins") {
		t.Errorf("got %s", out)
	}
	out, err := p.try(t, p.block(t, "sh", "writ replay"))
	if exitStatus(t, err) != 1 || !strings.Contains(out, "1 × list configmaps in default: allow to none (user:dave)") || strings.Contains(out, "system:") {
		t.Errorf("what RBAC alone allows is not the only difference: %v\n%s", err, out)
	}

	_, err = p.try(t, `git init -qb main && git add policies && git -c user.name=a -c user.email=a@example.com commit -qm first && git checkout -qb change
sed -i 's/resourceNames: \[hammer, shop\]/resourceNames: [hammer, payments, shop]/' policies/deny/freeze.yaml`)
	check(t, err)
	out, err = p.try(t, strings.ReplaceAll(p.block(t, "sh", "writ diff"), "policies policies\n", "policies policies || test $? = 1\n"))
	if err != nil || !strings.Contains(out, "payments") {
		t.Errorf("%v\n%s", err, out)
	}
}

// restart starts the API server with other flags.
func (c *controlPlane) restart(t *testing.T, flags []string) {
	t.Helper()
	c.stopAPI(t)
	c.Flags = flags
	c.startAPI(t)
}

// webhookPage plays the machine of the API server, its kubelet and its administrator.
func webhookPage(t *testing.T, c *controlPlane, root string) {
	address := freeAddress(t)
	p := readPage(t, root, "webhook.md", "0.0.0.0:8443", address, "127.0.0.1:8443", address, "writ.example:8443", address,
		"writ kubernetes config", "writ kubernetes config --path "+root+"/etc/kubernetes/writ")
	manifest := filepath.Join(root, "etc/kubernetes/manifests/kube-apiserver.yaml")
	p.shell(t, "openssl")
	writ := p.serve(t, address)
	if out := p.shell(t, "curl"); !strings.Contains(out, `"allowed":`) {
		t.Errorf("got %s", out)
	}
	p.shell(t, "--url https://writ.example:8443")
	p.shell(t, "cp writ/")
	p.shell(t, "kubectl apply -f writ/")
	p.shell(t, "Deny/failurePolicy: NoOpinion")

	before := c.staticPod(t, manifest, "Node,RBAC")
	p.shell(t, "cp /etc")
	check(t, os.WriteFile(manifest, p.edit(t, before), 0o600))
	c.restart(t, c.kubelet(t, manifest))
	p.decides(t, "priya", "by writ", true)
	writ.Kill()
	p.decides(t, "priya", "by RBAC alone", false)
	dave := c.as(t, "dave")
	wantCode(t, "the trial while writ is gone", list(dave), http.StatusOK)

	p.shell(t, "NoOpinion/failurePolicy: Deny")
	t.Logf("the API server reads the change after %s", eventually(t, "requests are refused", func() (bool, string) {
		err := list(dave)
		return code(err) == http.StatusInternalServerError, fmt.Sprint(err)
	}))
	writ = p.serve(t, address)
	out, err := p.try(t, p.block(t, "sh", "kubernetes doctor"))
	if exitStatus(t, err) != 1 || !strings.Contains(out, "\nno - not allowed") || finding.MatchString(out) {
		t.Errorf("the doctor finds nothing, and alice may do nothing: got %v\n%s", err, out)
	}
	p.decides(t, "priya", "by writ", true)

	p.shell(t, "cat >")
	t.Logf("the API server reads the way back after %s", p.decides(t, "priya", "by RBAC alone", false))
	writ.Kill()
	wantCode(t, "without writ", list(dave), http.StatusOK)
	p.shell(t, "cp /root")
	c.restart(t, c.kubelet(t, manifest))
	wantCode(t, "with the manifest from before", list(dave), http.StatusOK)
}

// decides waits until the API server lets a developer of the examples do what only the
// documents of writ allow, or not any more.
func (p *page) decides(t *testing.T, user, what string, allowed bool) time.Duration {
	t.Helper()
	return eventually(t, user+" is decided "+what, func() (bool, string) {
		out, err := p.try(t, "kubectl auth can-i list deployments.apps --namespace shop --as "+user+" --as-group shop-developers")
		return (err == nil) == allowed, out
	})
}

// serve runs the server of the page until the end of the test.
func (p *page) serve(t *testing.T, address string) *controlplane.Process {
	t.Helper()
	process, err := controlplane.StartProcess(p.root, "bash", "-c", "cd '"+p.root+"' && PATH='"+filepath.Dir(*writ)+"':$PATH && exec "+p.block(t, "sh", "writ serve"))
	check(t, err)
	t.Cleanup(process.Kill)
	eventually(t, "writ is ready", func() (bool, string) {
		out, err := p.try(t, "curl -sSf --cacert writ/ca.crt https://"+address+"/readyz")
		return err == nil, out
	})
	return process
}

// staticPod writes a manifest as kubeadm does, with the flags that the API server has.
func (c *controlPlane) staticPod(t *testing.T, path, mode string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	pod.APIVersion, pod.Kind, pod.Name, pod.Namespace = "v1", "Pod", "kube-apiserver", "kube-system"
	volume := func(name, path string) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
	}
	pod.Spec.Containers = []corev1.Container{{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver", Command: []string{"kube-apiserver", "--authorization-mode=" + mode}}}
	volume("k8s-certs", c.dir)
	content, err := yaml.Marshal(pod)
	check(t, err)
	check(t, os.WriteFile(path, content, 0o600))
	return pod
}

// edit adds what the page shows of the manifest to it, and removes what the page says.
func (p *page) edit(t *testing.T, pod *corev1.Pod) []byte {
	t.Helper()
	var part corev1.Pod
	check(t, yaml.UnmarshalStrict([]byte(p.block(t, "yaml", "kube-apiserver")), &part))
	pod, container := pod.DeepCopy(), part.Spec.Containers[0]
	whole := &pod.Spec.Containers[0]
	whole.Command = append(slices.DeleteFunc(whole.Command, func(flag string) bool { return flag == "--authorization-mode=Node,RBAC" }), container.Command[1:]...)
	whole.VolumeMounts = append(whole.VolumeMounts, container.VolumeMounts...)
	pod.Spec.Volumes = append(pod.Spec.Volumes, part.Spec.Volumes...)
	content, err := yaml.Marshal(pod)
	check(t, err)
	return content
}

// kubelet reads a manifest and returns the flags of its container, whose files must be those
// of the machine below the same paths.
func (c *controlPlane) kubelet(t *testing.T, manifest string) []string {
	t.Helper()
	content, err := os.ReadFile(manifest)
	check(t, err)
	var pod corev1.Pod
	check(t, yaml.UnmarshalStrict(content, &pod))
	if created, err := c.clients.CoreV1().Pods("kube-system").Create(t.Context(), &pod, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Errorf("the API server rejects the pod: %v, %v", err, created)
	}
	container := pod.Spec.Containers[0]
	for _, flag := range container.Command[1:] {
		_, file, _ := strings.Cut(flag, "=")
		if !strings.HasPrefix(file, "/") {
			continue
		}
		mounted := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return strings.HasPrefix(file, m.MountPath+"/") && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
				return v.Name == m.Name && v.HostPath.Path == m.MountPath
			})
		})
		if !mounted {
			t.Errorf("%s is not mounted", flag)
		}
	}
	return container.Command[1:]
}
