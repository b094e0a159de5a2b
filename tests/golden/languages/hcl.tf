# doc
resource "aws_s3_bucket" "logs" {
  bucket = "x"
  lifecycle { enabled = true }
}
variable "region" { default = "eu" }
locals { a = 1 }
