"""Files from elsewhere, by address or by name: resumed, checked, from a mirror if there is one, whole or not at all."""
