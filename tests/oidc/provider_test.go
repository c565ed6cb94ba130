package oidc

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// provider is a running OpenID provider.
type provider struct {
	dir, issuer string
	commands    io.Writer
	answers     *bufio.Scanner
	roots       *x509.CertPool
}

// startProvider runs the provider until the test ends.
func startProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{dir: t.TempDir(), roots: x509.NewCertPool()}
	p.newCertificate(t)
	command := exec.Command("node", filepath.Join(*folder, "provider.js"), filepath.Join(p.dir, "tls.crt"), filepath.Join(p.dir, "tls.key"))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(p.dir, "log"))
	check(t, err)
	command.Stderr = log
	stdin, err := command.StdinPipe()
	check(t, err)
	stdout, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
		if content, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the log of the provider:\n%s", content)
		}
	})
	p.commands, p.answers = stdin, bufio.NewScanner(stdout)
	if !p.answers.Scan() {
		t.Fatal("the provider does not start")
	}
	p.issuer = p.answers.Text()
	return p
}

// do makes the provider do something and waits until that is done.
func (p *provider) do(t *testing.T, command string) {
	t.Helper()
	_, err := fmt.Fprintln(p.commands, command)
	check(t, err)
	if !p.answers.Scan() || p.answers.Text() != "did "+command {
		t.Fatalf("%s: got %q", command, p.answers.Text())
	}
}

// newCertificate writes a certificate that signs itself, the only authority for it.
func (p *provider) newCertificate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.roots.AppendCertsFromPEM(certificate)
	write(t, filepath.Join(p.dir, "tls.crt"), certificate)
	write(t, filepath.Join(p.dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// callback is where the provider sends users back to. No server is there.
const callback = "https://client.example/callback"

var form = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)

// token signs a user in at a client, as a browser does, and returns the ID token.
func (p *provider) token(t *testing.T, client, user string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	check(t, err)
	browser := &http.Client{
		Jar: jar, Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), callback) {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	verifier := base64.RawURLEncoding.EncodeToString([]byte("the verifier of this test, long enough"))
	challenge := sha256.Sum256([]byte(verifier))
	response, err := browser.Get(p.issuer + "/auth?" + url.Values{
		"client_id": {client}, "response_type": {"code"}, "scope": {"openid"}, "redirect_uri": {callback},
		"code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode())
	for _, fields := range []url.Values{{"prompt": {"login"}, "login": {user}, "password": {"x"}}, {"prompt": {"consent"}}} {
		page := body(t, response, err)
		at := form.FindStringSubmatch(page)
		if at == nil {
			t.Fatalf("the provider shows no form: %s", page)
		}
		action, parseErr := url.Parse(at[1])
		check(t, parseErr)
		response, err = browser.PostForm(response.Request.URL.ResolveReference(action).String(), fields)
	}
	body(t, response, err)
	back, err := response.Location()
	check(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.issuer+"/token", strings.NewReader(url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}, "code_verifier": {verifier},
	}.Encode()))
	check(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(client, "secret-of-"+client)
	response, err = browser.Do(request)
	text := body(t, response, err)
	var tokens struct {
		ID string `json:"id_token"`
	}
	if err := json.Unmarshal([]byte(text), &tokens); err != nil || tokens.ID == "" {
		t.Fatalf("the provider issues no token: %s", text)
	}
	return tokens.ID
}

func body(t *testing.T, response *http.Response, err error) string {
	t.Helper()
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	return string(text)
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	check(t, os.WriteFile(path, content, 0o600))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
