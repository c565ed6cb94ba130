package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Headers by which forges prove that they know the secret: GitHub signs the body,
// GitLab sends the secret itself.
const (
	githubSignature = "X-Hub-Signature-256"
	gitlabToken     = "X-Gitlab-Token"
)

// maxPoke bounds a webhook's body, which says what was pushed and is not read for
// that.
const maxPoke = 1 << 20

// poke makes the source look for new documents. What the body says is not believed:
// the source is asked itself. Anybody may send one, so it is not kept: what is read
// of it goes into its hash.
func (s *service) poke(c *gin.Context) {
	secret := s.PokeSecret()
	mac := hmac.New(sha256.New, secret)
	_, err := io.Copy(mac, http.MaxBytesReader(c.Writer, c.Request.Body, maxPoke))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.refuse(c, &refusal{status: http.StatusRequestEntityTooLarge, message: "the body is too large"})
	case err != nil:
		s.refuse(c, &refusal{status: http.StatusBadRequest, message: "the body could not be read"})
	case len(secret) == 0 || !knows(c.Request.Header, mac.Sum(nil), secret):
		s.refuse(c, &refusal{status: http.StatusForbidden, message: "the request does not prove that it knows the secret"})
	default:
		s.Poke()
		write(c, http.StatusAccepted, textType, []byte("looking\n"))
	}
}

// knows reports whether the headers prove that the secret is known. Where there is a
// signature of the body, it alone counts.
func knows(header http.Header, signature, secret []byte) bool {
	if text, ok := strings.CutPrefix(header.Get(githubSignature), "sha256="); ok {
		given, err := hex.DecodeString(text)
		return err == nil && hmac.Equal(given, signature)
	}
	token := sha256.Sum256([]byte(header.Get(gitlabToken)))
	want := sha256.Sum256(secret)
	return header.Get(gitlabToken) != "" && subtle.ConstantTimeCompare(token[:], want[:]) == 1
}
