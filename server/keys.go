package server

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/writ-policy/writ/bundles"
)

// keys are the keys of bundles, reloaded when their files change. A bundle of a key that
// is revoked or removed is rejected. If the active bundle is signed by such a key, it
// stays active, because serving nothing would be worse; status, metrics and log report
// it.
//
// It is safe for concurrent use.
type keys struct {
	*bundles.Keys
	s *Server

	mu        sync.Mutex // guards the fields below
	reload    fileReload
	failed    string
	withdrawn string // the withdrawn key that was logged last
}

// keysStatus is the state of the keys of bundles, in /v1/status.
type keysStatus struct {
	// SignedBy is the key that signed the active bundle, and State its state now. A key
	// that was removed is revoked.
	SignedBy string           `json:"signedBy"`
	State    bundles.KeyState `json:"state,omitempty"`
	// LastError is the error of the last reload, after which the previous keys are used.
	LastError string `json:"lastError"`
}

func (s *Server) readKeys(path string) (*keys, error) {
	read, err := bundles.ReadKeys(path)
	if err != nil {
		return nil, err
	}
	return &keys{Keys: read, s: s}, nil
}

// of returns the keys, or nil if none are configured.
func (k *keys) of() *bundles.Keys {
	if k == nil {
		return nil
	}
	return k.Keys
}

// refresh reloads the files if they changed, and checks whether the active bundle would
// still be accepted.
func (k *keys) refresh() {
	defer func() { k.s.explorer.SetState(k.s.consoleState()) }() // which takes the lock
	k.mu.Lock()
	defer k.mu.Unlock()
	changed, err := k.Reload()
	k.reload.record(k.s, "keys of bundles", changed, err)
	k.failed = withoutPath(err)
	if changed {
		k.s.sources.poke() // a rejected bundle may be valid now
	}
	signer := k.s.reloader.Signer()
	withdrawn := signer.ID != "" && k.State(signer) == bundles.KeyRevoked
	k.s.metrics.KeyWithdrawn(withdrawn)
	switch {
	case withdrawn && k.withdrawn != signer.ID:
		k.withdrawn = signer.ID
		k.s.log.Error("the active bundle is signed by a revoked key: it stays active, and is rejected after a restart",
			"key", signer.ID, "revision", k.s.reloader.Revision())
	case !withdrawn:
		k.withdrawn = ""
	}
}

// withoutPath formats an error for the status, without local paths, which are in the log.
func withoutPath(err error) string {
	var at *fs.PathError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &at):
		return "read keys: " + at.Err.Error()
	}
	return err.Error()
}

func (k *keys) status() *keysStatus {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	status := &keysStatus{LastError: k.failed}
	if signer := k.s.reloader.Signer(); signer.ID != "" {
		status.SignedBy, status.State = signer.ID, k.State(signer)
	}
	return status
}
